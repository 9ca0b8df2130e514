#include "src/setup/driver_install/plan_json.h"

#include <boost/json/value.hpp>

#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::driver_install {
namespace {

namespace json = boost::json;

using driver::Action;
using driver::AskPerson;
using driver::Command;
using driver::InstallPackages;
using driver::LoadModules;
using driver::Plan;
using driver::Reboot;
using driver::RemoveFile;
using driver::RemovePackages;
using driver::RunCommand;
using driver::StartUnits;
using driver::Step;
using driver::StopUnits;
using driver::UnloadModules;
using driver::Verify;
using driver::WriteFile;

constexpr int64_t kLongest = int64_t{365} * 24 * 3600;  // of a deadline

json::object CommandJson(const Command& command) {
  return {{"argv", doc::Texts(command.argv)},
          {"environment", doc::Texts(command.environment)},
          {"deadline", command.deadline.count()}};
}

Command ReadCommand(doc::Fields& parent, std::string_view key) {
  doc::Fields fields(parent.Get(key), fmt::format("{}.{}", parent.where(), key));
  Command command;
  command.argv = fields.Texts("argv");
  command.environment = fields.Texts("environment");
  command.deadline = std::chrono::seconds(fields.Number("deadline"));
  if (fields.status().ok() &&
      (command.deadline.count() < 0 || command.deadline.count() > kLongest)) {
    fields.Fail("deadline", "must be of 0 to 31536000 seconds");
  }
  if (!fields.status().ok()) {
    parent.Fail(key, Message(fields.status()));
  }
  return command;
}

// One pair of functions for each kind of action, and a name that is in the file.
struct ToJson {
  json::object operator()(const RunCommand& run) const {
    return {{"run", CommandJson(run.command)}, {"undo", CommandJson(run.undo)}};
  }
  json::object operator()(const WriteFile& file) const {
    return {{"path", doc::View(file.path)},
            {"text", doc::View(file.text)},
            {"mode", static_cast<int64_t>(file.mode)}};
  }
  json::object operator()(const RemoveFile& file) const { return {{"path", doc::View(file.path)}}; }
  json::object operator()(const InstallPackages& packages) const {
    return {{"names", doc::Texts(packages.names)}, {"versionOf", doc::View(packages.version_of)}};
  }
  json::object operator()(const RemovePackages& packages) const {
    return {{"names", doc::Texts(packages.names)}, {"isKept", packages.must_return}};
  }
  json::object operator()(const StopUnits& stop) const {
    return {{"units", doc::Texts(stop.units)}};
  }
  json::object operator()(const StartUnits& start) const {
    return {{"units", doc::Texts(start.units)}, {"atBoot", start.at_boot}};
  }
  json::object operator()(const UnloadModules& unload) const {
    return {{"names", doc::Texts(unload.names)}};
  }
  json::object operator()(const LoadModules& load) const {
    return {{"names", doc::Texts(load.names)}};
  }
  json::object operator()(const Reboot& reboot) const {
    return {{"reason", doc::View(reboot.reason)}};
  }
  json::object operator()(const AskPerson& ask) const {
    return {{"text", doc::View(ask.text)}, {"key", doc::View(ask.key)}};
  }
  json::object operator()(const Verify& verify) const {
    return {{"version", doc::View(verify.version)}, {"kernel", doc::View(verify.kernel)}};
  }
};

Action ReadRun(doc::Fields& fields) {
  return RunCommand{.command = ReadCommand(fields, "run"), .undo = ReadCommand(fields, "undo")};
}
Action ReadWrite(doc::Fields& fields) {
  WriteFile file{.path = fields.Text("path"), .text = fields.Text("text")};
  const int64_t mode = fields.Number("mode");
  if (mode < 0 || mode > 07777) {
    fields.Fail("mode", "must be of 0 to 4095");
  }
  file.mode = static_cast<mode_t>(mode & 07777);
  return file;
}
Action ReadRemove(doc::Fields& fields) {
  return RemoveFile{fields.Text("path")};
}
Action ReadInstall(doc::Fields& fields) {
  // Journals of earlier versions lack it.
  return InstallPackages{.names = fields.Texts("names"),
                         .version_of = fields.Has("versionOf") ? fields.Text("versionOf") : ""};
}
Action ReadStop(doc::Fields& fields) {
  return StopUnits{fields.Texts("units")};
}
Action ReadStart(doc::Fields& fields) {
  return StartUnits{.units = fields.Texts("units"), .at_boot = fields.Bool("atBoot")};
}
Action ReadUnload(doc::Fields& fields) {
  return UnloadModules{fields.Texts("names")};
}
Action ReadLoad(doc::Fields& fields) {
  return LoadModules{fields.Texts("names")};
}
Action ReadReboot(doc::Fields& fields) {
  return Reboot{fields.Text("reason")};
}
Action ReadAsk(doc::Fields& fields) {
  return AskPerson{.text = fields.Text("text"),
                   .key = fields.Has("key") ? fields.Text("key") : std::string()};
}
Action ReadRemovePackages(doc::Fields& fields) {
  return RemovePackages{.names = fields.Texts("names"), .must_return = fields.Bool("isKept")};
}
Action ReadVerify(doc::Fields& fields) {
  return Verify{.version = fields.Text("version"), .kernel = fields.Text("kernel")};
}

// In the order of the variant.
constexpr std::array<std::string_view, std::variant_size_v<Action>> kActions = {
    "run",        "write-file",  "remove-file",    "install-packages",
    "stop-units", "start-units", "unload-modules", "load-modules",
    "reboot",     "ask-person",  "verify",         "remove-packages"};
constexpr std::array<Action (*)(doc::Fields&), std::variant_size_v<Action>> kReaders = {
    ReadRun,    ReadWrite, ReadRemove, ReadInstall, ReadStop,   ReadStart,
    ReadUnload, ReadLoad,  ReadReboot, ReadAsk,     ReadVerify, ReadRemovePackages};

json::object StepJson(const Step& step) {
  return {{"id", doc::View(step.id)},
          {"title", doc::View(step.title)},
          {"source", doc::View(step.source)},
          {"loses", doc::View(step.loses)},
          {"action", doc::View(kActions[step.action.index()])},
          {"of", std::visit(ToJson(), step.action)}};
}

StatusOr<Step> ReadStep(const json::value& value, const std::string& where) {
  doc::Fields fields(value, where);
  Step step;
  step.id = fields.Text("id");
  step.title = fields.Text("title");
  step.source = fields.Text("source");
  step.loses = fields.Has("loses") ? fields.Text("loses") : "";  // as above
  const size_t action = fields.Word("action", kActions);
  const json::value& of = fields.Get("of");
  RETURN_IF_ERROR(fields.status());
  doc::Fields inner(of, fmt::format("{}.of", where));
  step.action = kReaders[action](inner);
  RETURN_IF_ERROR(inner.status());
  return step;
}

}  // namespace

json::object PlanToJson(const Plan& plan) {
  json::array steps;
  for (const Step& step : plan.steps) {
    steps.push_back(StepJson(step));
  }
  return {{"version", doc::View(plan.version)},
          {"module", doc::View(ToString(plan.kind))},
          {"source", doc::View(ToString(plan.source))},
          {"kernel", doc::View(plan.kernel)},
          {"why", doc::Texts(plan.why)},
          {"notes", doc::Texts(plan.notes)},
          {"steps", std::move(steps)}};
}

StatusOr<Plan> PlanFromJson(const json::value& value, const std::string& where) {
  doc::Fields fields(value, where);
  Plan plan;
  plan.version = fields.Text("version");
  plan.kind = static_cast<driver::ModuleKind>(fields.Word("module", driver::kModuleKinds));
  plan.source = static_cast<driver::SourceKind>(fields.Word("source", driver::kSourceKinds));
  plan.kernel = fields.Text("kernel");
  plan.why = fields.Texts("why");
  plan.notes = fields.Texts("notes");
  const json::value& steps = fields.Get("steps");
  if (!steps.is_array()) {
    fields.Fail("steps", "must be a list");
  }
  RETURN_IF_ERROR(fields.status());
  for (size_t i = 0; i < steps.get_array().size(); ++i) {
    ASSIGN_OR_RETURN(Step step,
                     ReadStep(steps.get_array()[i], fmt::format("{}.steps[{}]", where, i)));
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

}  // namespace kgpu::driver_install
