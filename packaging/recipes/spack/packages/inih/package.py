# SPDX-License-Identifier: Apache-2.0
from spack.package import *


class Inih(MesonPackage):
    """A parser of INI files in C."""

    homepage = "https://github.com/benhoyt/inih"
    git = "https://github.com/benhoyt/inih.git"

    license("BSD-3-Clause")

    version("58", tag="r58")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
