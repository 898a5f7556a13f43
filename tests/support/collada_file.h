#pragma once

#include <string>

#include <tests/support/rigged_tube.h>

namespace sinew::test {

/// The tube as a Collada 1.4.1 document. The bind shape matrix takes the mesh to where it is bound; its node
/// stands elsewhere, which Collada ignores.
std::string tube_collada(const RiggedTube& tube, const TubeFileOptions& options = {});

}  // namespace sinew::test
