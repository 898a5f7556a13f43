#include <array>

#include <sinew/layers/wrinkle_layer.h>
#include <sinew/scene/refine_mesh.h>

namespace sinew {

namespace {

constexpr std::array<std::string_view, 3> kGrowths{"all", "from_start", "from_both_ends"};
constexpr std::array<std::string_view, 3> kAttenuations{"bell", "linear", "none"};
constexpr std::array<std::string_view, 2> kMeasures{"surface", "chord"};

}  // namespace

void WrinkleChoice::Level::visit(FieldVisitor& fields) {
  fields.number("share", share, 0, 1,
                "of the lost length that its folds take up; shares are scaled to sum 1");
}

void WrinkleChoice::visit(FieldVisitor& fields) {
  fields.text("name", name, "for messages");
  fields.text("mesh", mesh, "name or pattern of the mesh it lies on; none: the one nearest to its start");
  fields.list("points", points, "where its segment starts and ends, at rest; folds run across it");
  fields.integer("from_vertex", from_vertex, -1, 2'000'000'000,
                 "vertex of the file's mesh where it starts, instead of points");
  fields.integer("to_vertex", to_vertex, -1, 2'000'000'000, "and where it ends");
  fields.number("width", width, 0, 1e6, "of the skin that folds, across the segment, metres; 0: its length");
  fields.integer("folds", folds, 1, 64, "of the coarsest level");
  fields.integer("crest", crest, 1, 8, "width of a crest, in control points");
  fields.integer("spacing", spacing, 0, 8, "between two folds, in steps: half widths of a fold");
  fields.choice("growth", growth, kGrowths,
                "all folds at once, one after the other from the start, or from both ends");
  fields.number("height", height, 0.01, 10,
                "of a fold at which the next one grows, in its half widths; when all have it, all go on");
  fields.list("levels", levels, "finer folds upon the folds, each twice as many; none: one level");
  fields.choice("attenuation", attenuation, kAttenuations, "how folds become lower towards their ends");
  fields.boolean("sharp", sharp, "edged crests, as of stiff cloth");
  fields.number("strength", strength, 0, 4, "multiplies the height that is seen");
  fields.number("extension", extension, 0.2, 5,
                "its length when stretched the most, where folds begin, as a share of that at rest");
  fields.number("fade", fade, 0, 0.5, "share of the length that skin takes up before folds show in full");
  fields.choice("measure", measure, kMeasures,
                "its length is measured along the skin, or straight from end to end");
}

WrinkleShape WrinkleChoice::shape() const {
  WrinkleShape shape;
  shape.folds = folds;
  shape.crest = crest;
  shape.spacing = spacing;
  shape.growth = static_cast<WrinkleGrowth>(growth);
  shape.most_height = height;
  shape.sharp = sharp;
  if (!levels.empty()) shape.shares.clear();
  for (const Level& level : levels) shape.shares.push_back(level.share);
  return shape;
}

void WrinkleLayerOptions::visit(FieldVisitor& fields) {
  fields.list("tools", tools, "segments that fold; `sinew suggest --layer wrinkles` finds some");
  fields.integer("refine", refine, 0, kMostRefinement,
                 "how often triangles may be halved where folds need it, once, when the character is made");
  fields.number("detail", detail, 1, 16, "triangle edges that half a fold should have");
  fields.boolean("respect_contact", respect_contact, "skin in contact, as earlier layers say, stays flat");
}

}  // namespace sinew
