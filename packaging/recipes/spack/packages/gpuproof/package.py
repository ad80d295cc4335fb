# SPDX-License-Identifier: Apache-2.0
import os

from spack.package import *


class Gpuproof(CMakePackage, CudaPackage):
    """Measures GPUs from an INI file, judges the numbers and publishes them as HTML."""

    # The source archive of the release is expected in the folder from which spack is called.
    url = "file://{0}/@ARCHIVE@".format(os.getcwd())

    license("Apache-2.0", checked_by="gpuproof")

    version("@VERSION@", sha256="@SHA256@")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2:")
    depends_on("openblas")
    depends_on("jansson")
    depends_on("sqlite@3.37:")
    depends_on("mstch")
    depends_on("cuda@12:", when="+cuda")

    def cmake_args(self):
        args = [
            self.define_from_variant("GPUPROOF_CUDA", "cuda"),
            self.define("GPUPROOF_TESTS", False),
        ]
        arch = self.spec.variants["cuda_arch"].value if "+cuda" in self.spec else ("none",)
        if "none" not in arch:
            args.append(self.define("GPUPROOF_CUDA_ARCHITECTURES", ";".join(arch)))
        return args
