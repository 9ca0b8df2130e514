#include "src/cli/runtime/runtime_view.h"

#include <boost/json/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/node/report/table.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

using doc::Texts;

json::value Text(std::string_view text) {
  return text.empty() ? json::value() : json::value(json::string(text.data(), text.size()));
}

const engine::LiveFacts* Facts(const EngineStatus& status) {
  return status.live && status.live->ok() ? &**status.live : nullptr;
}

std::string CdiText(const EngineStatus& status) {
  const engine::LiveFacts* facts = Facts(status);
  if (facts != nullptr && facts->reads_cdi) {
    return *facts->reads_cdi ? "on"
                             : (status.engine.cdi == engine::CdiSupport::kAbsent ? "no" : "off");
  }
  return std::string(engine::ToString(status.engine.cdi));
}

// "nvidia", "nvidia (default)"; empty: the engine has none of kgpu's or NVIDIA's.
std::string RuntimeText(const EngineStatus& status) {
  const engine::LiveFacts* facts = Facts(status);
  std::string name = status.record && !status.record->expected.runtime.empty()
                         ? status.record->expected.runtime
                         : "nvidia";
  if (facts != nullptr && !facts->runtimes.empty()) {
    if (std::ranges::find(facts->runtimes, name) == facts->runtimes.end()) {
      return "";
    }
    return facts->default_runtime == name ? name + " (default)" : name;
  }
  if (!status.record || status.record->expected.runtime.empty()) {
    return "";
  }
  return status.record->expected.is_default ? name + " (default)" : name;
}

std::string RunsText(const EngineStatus& status) {
  if (status.engine.kind == engine::Kind::kPodman) {
    return "no daemon";
  }
  if (!status.engine.daemon) {
    return status.engine.is_daemon_known ? "no" : "unknown";
  }
  const bool answers = !status.live || status.live->ok();
  return fmt::format("pid {}{}", status.engine.daemon->pid, answers ? "" : ", does not answer");
}

// What kgpu did to the engine, and what is left to do.
std::string ConfiguredText(const EngineStatus& status) {
  if (!status.record) {
    return "no";
  }
  if (status.record->phase != engine::Phase::kApplied) {
    return "interrupted";
  }
  const engine::Reach pending = engine::PendingReach(*status.record, status.engine);
  return pending == engine::Reach::kNothing ? "yes"
                                            : fmt::format("yes, {} pending", ToString(pending));
}

std::vector<std::string> Notes(const EngineStatus& status) {
  std::vector<std::string> notes;
  if (!status.engine.note.empty()) {
    notes.push_back(status.engine.note);
  }
  if (status.live && !status.live->ok()) {
    notes.emplace_back(Message(status.live->status()));
  }
  if (const engine::LiveFacts* facts = Facts(status); facts && !facts->note.empty()) {
    notes.push_back(facts->note);
  }
  return notes;
}

}  // namespace

std::string EnginesTable(const std::vector<EngineStatus>& engines) {
  report::Table table({"ENGINE", "VERSION", "RUNS", "CDI", "RUNTIME", "BY KGPU", "FILE"});
  std::string notes;
  for (const EngineStatus& status : engines) {
    table.AddRow({status.engine.Name(), status.engine.version_text, RunsText(status),
                  CdiText(status), RuntimeText(status), ConfiguredText(status),
                  status.engine.config_file});
    for (const std::string& note : Notes(status)) {
      fmt::format_to(std::back_inserter(notes), "{}: {}\n", status.engine.Name(), note);
    }
  }
  return table.Render() + notes;
}

json::value EnginesJson(const std::vector<EngineStatus>& engines) {
  json::array list;
  for (const EngineStatus& status : engines) {
    const engine::Engine& engine = status.engine;
    json::object object{{"engine", Text(engine::ToString(engine.kind))},
                        {"distribution", Text(engine.distribution)},
                        {"version", Text(engine.version_text)},
                        {"program", Text(engine.program)},
                        {"pid", engine.daemon ? json::value(engine.daemon->pid) : json::value()},
                        {"unit", Text(engine.unit)},
                        {"socket", Text(engine.socket)},
                        {"configFile", Text(engine.config_file)},
                        {"generatedFile", Text(engine.generated_file)},
                        {"dropInFolder", Text(engine.drop_in_folder)},
                        {"cdi", Text(CdiText(status))},
                        {"runtime", Text(RuntimeText(status))},
                        {"configured", Text(ConfiguredText(status))},
                        {"notes", Texts(Notes(status))}};
    list.push_back(std::move(object));
  }
  return list;
}

std::string DoneText(const std::vector<Done>& done) {
  std::string out;
  for (const Done& one : done) {
    if (one.outcome.done.empty()) {
      fmt::format_to(std::back_inserter(out), "{}: nothing to change: {}\n", one.name, one.way);
    }
    for (const std::string& action : one.outcome.done) {
      fmt::format_to(std::back_inserter(out), "{}: {}\n", one.name, action);
    }
  }
  return out;
}

json::value DoneJson(const std::vector<Done>& done) {
  json::array list;
  for (const Done& one : done) {
    list.push_back({{"engine", Text(one.name)},
                    {"way", Text(one.way)},
                    {"done", Texts(one.outcome.done)},
                    {"notes", Texts(one.outcome.notes)}});
  }
  return list;
}

json::value PlansJson(const std::vector<engine::Plan>& plans) {
  json::array list;
  for (const engine::Plan& plan : plans) {
    json::array files;
    for (const engine::FileStep& file : plan.files) {
      files.push_back({{"path", Text(file.path)}, {"diff", Text(engine::DiffOf(file))}});
    }
    json::array links;
    for (const change::LinkStep& link : plan.links) {
      links.push_back({{"path", Text(link.path)},
                       {"target", link.is_removal ? json::value() : Text(link.target)}});
    }
    list.push_back({{"engine", Text(plan.engine ? plan.engine->Name() : plan.id)},
                    {"way", Text(plan.way)},
                    {"adopts", Text(plan.adopts)},
                    {"files", std::move(files)},
                    {"links", std::move(links)},
                    {"reach", Text(engine::ToString(plan.reach))},
                    {"notes", Texts(plan.notes)}});
  }
  return list;
}

}  // namespace kgpu::cli
