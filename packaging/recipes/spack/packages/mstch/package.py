# SPDX-License-Identifier: Apache-2.0
from spack.package import *


class Mstch(CMakePackage):
    """Mustache templates for C++11."""

    homepage = "https://github.com/no1msd/mstch"
    git = "https://github.com/no1msd/mstch.git"

    license("MIT")

    version("1.0.2", tag="1.0.2")

    depends_on("cxx", type="build")
    depends_on("boost")
