#include "src/platform/commands/command_tree.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "src/platform/base/strings.h"

namespace kgpu::commands {
namespace {

std::vector<std::string> WordsOf(const CLI::App& app, const std::string& name,
                                 const std::string& type, const Offers& offers) {
  if (const auto found = offers.find(&app); found != offers.end()) {
    for (const FlagWords& offer : found->second) {
      if (offer.flag == name) {
        return offer.words;
      }
    }
  }
  return WordsOfType(type);
}

Flag FlagOf(const CLI::App& app, const CLI::Option& option, const Offers& offers) {
  Flag flag{.name = "--" + option.get_lnames().front()};
  if (!option.get_snames().empty()) {
    flag.letter = "-" + option.get_snames().front();
  }
  // A flag that can be given a value, as --cdi=no, has a type but needs none.
  flag.value = option.get_items_expected_max() > 0 ? option.get_type_name() : "";
  flag.description = option.get_description();
  flag.environment = option.get_envname();
  flag.words = WordsOf(app, flag.name, option.get_type_name(), offers);
  return flag;
}

Argument ArgumentOf(const CLI::App& app, const CLI::Option& option, const Offers& offers) {
  const std::string name = option.get_name(true);
  return {.name = name,
          .description = option.get_description(),
          .is_required = option.get_required(),
          .is_many = option.get_items_expected_max() > 1,
          .words = WordsOf(app, name, option.get_type_name(), offers)};
}

}  // namespace

std::vector<std::string> WordsOfType(std::string_view type) {
  // A set that the parser checks: "TEXT:{driver,kernel-log}".
  if (const size_t set = type.find(":{"); set != std::string_view::npos && type.ends_with('}')) {
    const auto words = Split(type.substr(set + 2, type.size() - set - 3), ',');
    return {words.begin(), words.end()};
  }
  const std::vector<std::string_view> words = Split(type, '|');
  return words.size() < 2 ? std::vector<std::string>()
                          : std::vector<std::string>(words.begin(), words.end());
}

Command TreeOf(const CLI::App& app, const Offers& offers) {
  Command command{.name = app.get_name(),
                  .description = app.get_description(),
                  .footer = app.get_footer(),
                  .is_passed_on = app.get_prefix_command()};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) {
      continue;  // hidden: a former name
    }
    if (!option->get_lnames().empty()) {
      command.flags.push_back(FlagOf(app, *option, offers));
    } else if (option->get_positional()) {
      command.arguments.push_back(ArgumentOf(app, *option, offers));
    }
  }
  for (const CLI::App* child : app.get_subcommands(nullptr)) {
    if (!child->get_group().empty()) {  // one without a group is hidden
      command.commands.push_back(TreeOf(*child, offers));
    }
  }
  return command;
}

Reached ReachedBy(const CLI::App& app) {
  Reached reached{.app = &app, .words = app.get_name()};
  while (!reached.app->get_subcommands().empty()) {
    reached.app = reached.app->get_subcommands().front();
    reached.words += fmt::format(" {}", reached.app->get_name());
  }
  return reached;
}

}  // namespace kgpu::commands
