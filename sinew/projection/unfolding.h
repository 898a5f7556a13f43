#pragma once

#include <cstdint>

#include <sinew/contact/contact_params.h>
#include <sinew/projection/contact_frame.h>
#include <sinew/projection/contact_skin.h>

namespace sinew {

/// Turns triangles upright that a pose has folded over: each such triangle wants its corners where its bones
/// turn them, about its own middle.
class Unfolding {
 public:
  /// Both must outlive it.
  Unfolding(const ContactSkin& skin, const ContactParams& params) : skin_(skin), params_(params) {}

  /// Where the folded triangles round a vertex want it, from where it is, as much as they are folded over:
  /// nothing where none is. `frame.turns` of the vertex is known.
  Vec3f move(std::uint32_t vertex, const ContactFrame& frame) const;

  /// Unfolds what the skin before contact has folded, loops at inner elbows above all: moves `frame.placed`
  /// and makes what it moves, with some rings round it, the region.
  void unfold(ContactFrame& frame) const;

 private:
  bool may_be_folded(std::size_t triangle, const ContactFrame& frame) const;

  const ContactSkin& skin_;
  const ContactParams& params_;
};

}  // namespace sinew
