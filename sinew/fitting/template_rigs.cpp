#include <sinew/fitting/template_rigs.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <sinew/core/error.h>

namespace sinew {

namespace {

constexpr std::array<TemplateRig, 4> kTemplates{{
    {"biped", "an adult with fingers: arm and leg IK, foot roll, finger flexors", make_biped_template,
     "head"},
    {"quadruped", "a cat: paw IK, spine and tail controls", make_quadruped_template, "head"},
    {"insect", "an ant: six leg IKs, antenna and abdomen controls", make_insect_template, "head"},
    {"hand", "a left hand with finger flexors", make_hand_template, ""},
}};

}  // namespace

std::span<const TemplateRig> template_rigs() {
  return kTemplates;
}

std::string template_names() {
  std::string names;
  for (const TemplateRig& rig : kTemplates) names += (names.empty() ? "" : ", ") + std::string(rig.name);
  return names;
}

ControlRig make_template_rig(std::string_view name) {
  const auto found = std::find_if(kTemplates.begin(), kTemplates.end(),
                                  [&](const TemplateRig& rig) { return rig.name == name; });
  if (found == kTemplates.end())
    throw Error(fmt::format("{}: no such template rig; there are: {}", name, template_names()));
  return found->make();
}

}  // namespace sinew
