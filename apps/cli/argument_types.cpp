#include "apps/cli/argument_types.h"

#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/character/layer.h>
#include <sinew/fitting/template_rigs.h>
#include <sinew/models/models.h>
#include <sinew/models/open_models.h>

namespace sinew::cli {

namespace {

void add_models(const std::string& prefix, std::vector<std::string>& words) {
  for (const Model& model : models()) words.push_back(prefix + std::string(model.name));
  for (const OpenModel& model : open_models()) words.push_back(prefix + std::string(model.name));
}

}  // namespace

CLI::Validator choices(const std::vector<std::string>& words) {
  return CLI::Validator([](std::string&) { return std::string(); },
                        fmt::format("{{{}}}", fmt::join(words, ",")), "choices");
}

Offer offer_for(const std::string& type) {
  Offer offer;
  const std::string_view name = type;
  offer.files = name == kFile || name == kCharacter || name == kRig;
  offer.directories = name == kDirectory;
  offer.list = name == kMethods;
  if (name == kCharacter || name == kRig) add_models("model:", offer.words);
  if (name == kRig)
    for (const TemplateRig& rig : template_rigs()) offer.words.push_back("template:" + std::string(rig.name));
  if (name == kModelName) add_models("", offer.words);
  if (name == kMethod || name == kMethods)
    for (const LayerMethod& method : layer_methods()) offer.words.emplace_back(method.name);
  return offer;
}

}  // namespace sinew::cli
