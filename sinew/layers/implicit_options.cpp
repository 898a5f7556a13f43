#include <sinew/layers/implicit_options.h>

#include <array>
#include <numbers>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr std::array<std::string_view, 6> kKinds{"union", "blend", "contact", "bulge", "profile", "none"};
static_assert(kKinds[OperatorChoice::kNone] == "none");
constexpr std::array<std::string_view, 5> kResponses{"elbow", "finger", "shoulder", "none", "drawn"};
constexpr std::size_t kDrawn = 4;
constexpr std::array<std::string_view, 6> kSides{"+x", "-x", "+y", "-y", "+z", "-z"};

void visit_field(FieldVisitor& fields, BoneFieldOptions& options) {
  fields.integer("samples", options.samples, 4, 400, "points of a bone's skin that its field goes through");
  fields.number("cull", options.cull, 0, 0.4,
                "share of the bone at each joint whose skin is left out where the next part begins");
  fields.number(
      "closure_head", options.closure_head, 0, 4,
      "how far before its joint a field closes, in distances from joint to skin; 0: no closure point");
  fields.number("closure_tail", options.closure_tail, 0, 4, "the same beyond the end of the bone");
  fields.number("support", options.support, 0.2, 3,
                "reach of the field, in distances of the bone's farthest skin from it");
}

}  // namespace

void RecipePoint::visit(FieldVisitor& fields) {
  fields.number("x", x, -1e6, 1e6, "metres, at rest");
  fields.number("y", y, -1e6, 1e6, "metres, at rest");
  fields.number("z", z, -1e6, 1e6, "metres, at rest");
}

void RecipeBall::visit(FieldVisitor& fields) {
  RecipePoint::visit(fields);
  fields.number("radius", radius, 0, 1e6, "metres");
}

void OperatorChoice::ProfilePoint::visit(FieldVisitor& fields) {
  fields.number("f1", f1, 0, 1, "first field's value");
  fields.number("f2", f2, 0, 1, "second field's value");
}

void OperatorChoice::ResponsePoint::visit(FieldVisitor& fields) {
  fields.number("angle", angle, 0, 180, "degrees between the two gradients");
  fields.number("value", value, 0, 1, "0: a union, 1: all of the operator");
}

void OperatorChoice::visit(FieldVisitor& fields) {
  fields.choice(
      "operator", kind, kKinds,
      "the shape that neighbouring fields give to skin: none (as the layer before has it, but where skins "
      "touch), union (a crisp crease), blend (smooth while it is open), contact (skins touch deep in the "
      "fold), bulge (tissue bulges beside the fold), profile (as drawn)");
  fields.choice("response", response, kResponses,
                "from which angle on the operator acts: elbow, finger, shoulder, none (never), or drawn");
  fields.list("profile", profile,
              "for the operator profile: control points of the curve where the joined field is 0.5, from (0, "
              "0.5) to (0.5, 0.5)");
  fields.list("curve", curve, "for the response drawn: three points, angles ascending");
  fields.number("first_slope", first_slope, 0.01, 100, "of the drawn response, before its middle point");
  fields.number("second_slope", second_slope, 0.01, 100, "of the drawn response, after its middle point");
}

Operator OperatorChoice::make(OperatorLibrary& library, const std::string& where) const {
  const auto operator_kind = static_cast<OperatorKind>(kind);
  if (kind == kNone || operator_kind == OperatorKind::union_) return {};
  const bool blend = operator_kind == OperatorKind::blend;
  try {
    ResponseCurve response_curve;
    if (response == kDrawn) {
      if (curve.size() != 3) throw Error(fmt::format("a drawn response has 3 points, not {}", curve.size()));
      for (std::size_t i = 0; i < 3; ++i) {
        response_curve.angles[i] = curve[i].angle * kDegree;
        // A blend's angle runs the other way: π/4 is a union.
        response_curve.values[i] = blend ? (1 - curve[i].value) * std::numbers::pi / 4 : curve[i].value;
      }
      response_curve.slopes = {first_slope, second_slope};
    } else {
      const auto preset = static_cast<ResponsePreset>(response);
      response_curve = blend ? angle_response(preset) : depth_response(preset);
    }
    if (operator_kind != OperatorKind::profile) return library.make(operator_kind, response_curve);
    OperatorProfile drawn;
    for (const ProfilePoint& point : profile) drawn.points.push_back({point.f1, point.f2});
    return library.make(drawn, response_curve);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", where, error.what()));
  }
}

void JointOperator::visit(FieldVisitor& fields) {
  fields.text("joint", joint, "name of the joint, or a pattern: * any characters, ? one");
  fields.texts("between", between,
               "two names or patterns of joints, such as [\"thigh*\", \"spine*\"]: instead of a joint, all "
               "pairs of their parts that no joint connects");
  operation.visit(fields);
}

void PartSoftness::visit(FieldVisitor& fields) {
  fields.text("joint", joint, "name of the part's joint, or a pattern: * any characters, ? one");
  fields.number("softness", softness, -1, 1,
                "1: gives way wholly to parts of 0, as a belly to a hand; -1: not at all, as bone");
}

void FieldEdit::visit(FieldVisitor& fields) {
  fields.text("joint", joint, "name of the bone's joint, or a pattern: * any characters, ? one");
  visit_field(fields, options);
  fields.list("add", add, "more samples, each at the vertex of the bone's skin that is nearest to the point");
  fields.list("remove", remove, "balls in which no samples are taken");
}

BoneFieldOptions FieldEdit::edited() const {
  BoneFieldOptions result = options;
  for (const RecipePoint& point : add) result.added.push_back(point.position());
  for (const RecipeBall& ball : remove) result.removed.push_back({ball.position(), ball.radius});
  return result;
}

void MuscleChoice::visit(FieldVisitor& fields) {
  fields.text("name", name, "for messages");
  fields.text("joint", joint,
              "joint of the bone that it lies on, or a pattern: * any characters, ? one; one muscle for each "
              "that fits");
  fields.text(
      "driver", driver,
      "joint whose bend swells it, or a pattern: of several that fit, the nearest; empty: the joint at "
      "the end of the bone");
  fields.text("insertion_joint", insertion_joint,
              "joint that carries its far end, found as the driver; empty: the same as the near end's");
  fields.list("ends", ends, "its two ends; none: it is placed by side, from and to");
  fields.choice("side", side, kSides, "side of the bone it lies on, at rest; below the skin there");
  fields.number("from", from, -0.5, 1.5, "where it begins, as a share of the bone");
  fields.number("to", to, -0.5, 1.5, "where it ends, as a share of the bone");
  fields.number("radius", radius, 0, 1e6,
                "half its thickness, metres; 0: 0.45 of the way from bone to skin, or to the skin from the "
                "middle of its ends");
  fields.number("swell", swell, -0.5, 2, "share of its radius that it gains when the joint is bent");
  fields.number("lift", lift, -2, 2, "radii by which it moves away from the bone then");
  fields.number("angle", angle, 1, 180, "degrees of bend, from rest, at which it does all that");
}

Vec3d MuscleChoice::side_direction() const {
  Vec3d direction = Vec3d::Zero();
  direction[static_cast<Eigen::Index>(side / 2)] = side % 2 == 0 ? 1 : -1;
  return direction;
}

std::string_view MuscleChoice::side_name() const {
  return kSides[side];
}

FieldLayerOptions::FieldLayerOptions() {
  operation.response = to_size(ResponsePreset::elbow);
}

void FieldLayerOptions::visit(FieldVisitor& visitor) {
  operation.visit(visitor);
  visitor.list("joints", joints,
               "joints and pairs of parts with operators of their own; the last entry that matches counts");
  visit_field(visitor, field);
  visitor.list("fields", fields, "bones with fields of their own; the last entry that matches counts");
  visitor.list(
      "softness", softness,
      "parts that give way more or less to others than their sizes say; the last entry that matches counts");
  visitor.list("muscles", muscles, "muscles that swell with the bend of a joint; at most 3 on a bone");
  visitor.text(
      "meshes", meshes,
      "name or pattern of the meshes that the fields are made of, the others follow; empty: the largest, "
      "and others for bones that it does not cover");
  visitor.renamed("filling", "volume_correction");
  visitor.number("volume_correction", volume_correction, 0, 1,
                 "share of the volume that bent joints lose which the free skin round them restores");
}

void retire_tracking_fields(FieldVisitor& visitor) {
  for (const std::string_view name :
       {"step",           "rounds",        "steps",    "tolerance",      "dead_zone",      "ease",
        "gradient_angle", "turn",          "gap",      "relaxation",     "coherence",      "strain_limit",
        "strain",         "bulge_share",   "swelling", "smoothing",      "diffusion",      "flip_repair",
        "untangling",     "depenetration", "rising",   "elastic_rounds", "elastic_sweeps", "elastic_steps"})
    visitor.retired(name, "contact is found without tracking; remove it");
}

void ImplicitOptions::visit(FieldVisitor& visitor) {
  FieldLayerOptions::visit(visitor);
  retire_tracking_fields(visitor);
}

}  // namespace sinew
