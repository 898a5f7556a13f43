#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <sinew/character/layer.h>
#include <sinew/implicit/bone_field.h>
#include <sinew/implicit/operators.h>

namespace sinew {

/// A point that a recipe names, metres in rest space.
struct RecipePoint {
  double x = 0, y = 0, z = 0;
  Vec3d position() const { return {x, y, z}; }
  void visit(FieldVisitor& fields);
};

/// A ball of rest space.
struct RecipeBall : RecipePoint {
  double radius = 0.01;
  void visit(FieldVisitor& fields);
};

/// How two fields are joined, and how that answers to the angle between their gradients.
struct OperatorChoice {
  /// As `kind`: no operator; skin keeps the shape that the layer before gave it, fields only tell contact.
  static constexpr std::size_t kNone = 5;

  /// A control point of a profile drawn by the user.
  struct ProfilePoint {
    double f1 = 0, f2 = 0.5;
    void visit(FieldVisitor& fields);
  };
  /// A point of a response curve drawn by the user.
  struct ResponsePoint {
    double angle = 0, value = 0;
    void visit(FieldVisitor& fields);
  };

  std::size_t kind = kNone;  ///< an OperatorKind, or kNone
  std::size_t response = 0;  ///< a ResponsePreset, or one past them: the drawn one
  std::vector<ProfilePoint> profile;
  std::vector<ResponsePoint> curve;
  double first_slope = 1, second_slope = 1;

  void visit(FieldVisitor& fields);
  /// Throws Error, prefixed with `where`, for a profile or curve that does not hold.
  Operator make(OperatorLibrary& library, const std::string& where) const;
};

/// Parts that give way to others more, or less, than their sizes say.
struct PartSoftness {
  std::string joint = "*";
  double softness = 0;

  void visit(FieldVisitor& fields);
};

/// Joints, or pairs of parts that can touch, whose operator is another than the default.
struct JointOperator {
  std::string joint = "*";
  std::vector<std::string> between;  ///< patterns of the joints of two parts; empty: `joint` says where
  OperatorChoice operation;
  void visit(FieldVisitor& fields);
};

/// Bones whose fields are made in another way than the default.
struct FieldEdit {
  std::string joint = "*";
  BoneFieldOptions options;
  std::vector<RecipePoint> add;
  std::vector<RecipeBall> remove;
  void visit(FieldVisitor& fields);
  /// The options with the points in them.
  BoneFieldOptions edited() const;
};

/// A muscle that swells with the bend of a joint (implicit/muscle.h).
struct MuscleChoice {
  std::string name = "muscle";  ///< for messages
  std::string joint;            ///< the bone it lies on, name or pattern: one muscle for each that fits
  /// Joint whose bend swells it; of several that fit the pattern, the one fewest joints away. Empty: the
  /// joint at the end of the bone.
  std::string driver;
  std::string insertion_joint;    ///< that carries its far end, found as the driver; empty: `joint`
  std::vector<RecipePoint> ends;  ///< origin and insertion; none: as `side`, `from` and `to` say
  std::size_t side = 0;           ///< of the bone, see side_direction()
  double from = 0.15, to = 0.9;   ///< along the bone
  double radius = 0;              ///< metres; 0: found out
  double swell = 0.5, lift = 0.25, angle = 120;
  void visit(FieldVisitor& fields);
  Vec3d side_direction() const;
  std::string_view side_name() const;
};

/// What a recipe may say about layers that work with the fields of bones.
class FieldLayerOptions : public LayerOptions {
 public:
  FieldLayerOptions();

  OperatorChoice operation;           ///< of all joints that `joints` does not name
  std::vector<JointOperator> joints;  ///< the last that matches counts
  BoneFieldOptions field;             ///< of all bones that `fields` does not name
  std::vector<FieldEdit> fields;      ///< the last that matches counts
  std::vector<MuscleChoice> muscles;
  std::vector<PartSoftness> softness;  ///< the last that matches counts
  std::string meshes;                  ///< pattern of the meshes that make the fields; empty: found out
  double volume_correction = 1;  ///< share of the volume lost at bent joints that is restored: JointFilling
  void visit(FieldVisitor& visitor) override;
};

/// Fields of recipes from before contact was found in the deformed mesh: they do nothing, and readers say so.
void retire_tracking_fields(FieldVisitor& visitor);

/// All that a recipe may say about implicit skinning.
class ImplicitOptions : public FieldLayerOptions {
 public:
  void visit(FieldVisitor& visitor) override;
};

}  // namespace sinew
