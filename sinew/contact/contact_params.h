#pragma once

namespace sinew {

/// All tuned constants of contact: where skins meet (contact/) and how they are brought there (projection/).
/// Lengths are shares of a vertex's own edge (the mean length of the edges round it at rest) or of its ray
/// (from its bone to where the base skin has it), so that no character's size or resolution matters. The
/// ablation table of docs/implicit.md has a row for each mechanism that they belong to. Found on
/// heavy_male_mocap `boxing` and `sit`, muscular_mocap `dance` and `stretch`, human.glb and the built-in
/// characters.
struct ContactParams {
  // Attachment: where a vertex's ray begins.
  float bone_end = 1.0f;     ///< in distances from skin to bone: rays begin no nearer to a bone's end
  float clear_share = 0.5f;  ///< of the part of a ray that runs through flesh at rest, that it may have

  // Where on its ray a vertex stops.
  float fade = 0.35f;        ///< edges over which a crossing takes effect: the contact begins softly
  float side_width = 0.03f;  ///< field values over which one side becomes the other
  float own_from = 0.1f;    ///< share of the largest weight from which on a bone is the vertex's own side …
  float own_wholly = 0.6f;  ///< … and from which on wholly so
  float hardness = 0.7f;    ///< exponent by which small parts are harder, see field_strengths()
  float hard_below = 0.35f;  ///< share of the largest part's radius below which parts are harder
  float reach = 0.4f;        ///< edges by which a vertex outlives an overlap nearer to its bone
  float core = 0.2f;         ///< share of a ray, from the bone, that skin never retreats into
  int samples = 8;           ///< of the fields in an overlap
  int retreat_sweeps = 3;    ///< that smooth how far vertices retreat
  int region_rings = 3;      ///< round what retreats, that smoothing and separation reach

  // Separation along normals.
  int activity_sweeps = 3;    ///< that spread the retreat: separation acts on neighbours, too
  int sweeps = 8;             ///< of separation
  int sweeps_per_search = 4;  ///< of rays for what skin is in contact with
  int push_sweeps = 1;        ///< that smooth how far vertices are pushed in a sweep
  float most_push = 0.15f;    ///< edges, of a sweep
  float gap = 0.06f;          ///< edges that two skins are apart at
  float ring_gap = 0.5f;      ///< share that the smallest gap of its ring has in the gap that a vertex closes
  float deep = 1.7f;          ///< edges of depth from which on a sweep moves less …
  float too_deep = 3.3f;      ///< … and does nothing: that is no contact that a normal could solve
  float far = 1.7f;           ///< edges of a gap from which on there is nothing to close
  float active_from = 0.042f;  ///< edges of retreat from which on separation works wholly
  float closing_from = 0.25f;  ///< the same for closing and unfolding

  // Unfolding: what is turned over, by the base skin or by contact.
  float flat_area = 0.45f;  ///< share of a triangle's area below which it counts as folded …
  float flat_width = 0.6f;  ///< … wholly so that much below
  float to_ring = 0.6f;  ///< share of the way to the middle of its ring, beside upright, of an unfolding move
  int upright_sweeps = 10;  ///< before contact
  int upright_rings = 2;    ///< of vertices round what is folded then, that give way

  // The shape that operators and muscles give (iso_shape.h).
  float shape_reach = 1;       ///< ray lengths by which they can move skin outwards
  float shape_fades = -0.57f;  ///< cosine between two gradients from which on a joint's shape fades …
  float shape_ends = -0.87f;   ///< … and has ended: skins fold onto each other
  float bulge_gain = 3;        ///< of what a bulge adds to a union
  float most_bulge = 0.4f;     ///< ray lengths that it adds
  int shape_sweeps = 3;        ///< that smooth how far operators move skin
};

}  // namespace sinew
