#pragma once

#include <sinew/fitting/fit_scene.h>
#include <sinew/picture/image.h>

namespace sinew::cli {

/// The mesh with the limbs that were found in it (blue), and with the bones (orange) and controllers (green)
/// of the rig that was fitted to it, from the front and from the side.
Image draw_fit(const FittedScene& fitted);

}  // namespace sinew::cli
