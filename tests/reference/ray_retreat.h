#pragma once

#include <vector>

#include <sinew/contact/contact_params.h>
#include <sinew/projection/contact_frame.h>
#include <sinew/projection/contact_skin.h>

namespace sinew::reference {

/// How far each vertex of a posed skin retreats along its ray, metres (docs/implicit.md, step 4), without
/// what it retreats at rest: every vertex asked, every triangle crossed, in double, the integral by small
/// steps. `frame` knows the pose: fields, transforms and scales. `positions` are those of the skin.
std::vector<double> ray_retreats(const ContactSkin& skin, const FieldSet& fields, const ContactParams& params,
                                 const ContactFrame& frame, std::span<const Vec3f> positions);

}  // namespace sinew::reference
