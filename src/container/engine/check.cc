#include "src/container/engine/check.h"

#include <boost/json/value.hpp>

#include <filesystem>
#include <set>

#include "src/container/cdi/check.h"
#include "src/container/cdi/folder.h"
#include "src/container/engine/apply.h"
#include "src/container/engine/engine_files.h"
#include "src/container/engine/find.h"
#include "src/container/inject/book.h"
#include "src/platform/base/strings.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;

constexpr std::string_view kGenerate = "kgpu cdi generate, or run kgpu agent";

// Programs that `tree` names as kgpu's runtime, or NVIDIA's.
void FindRuntimes(const json::value& tree, std::set<std::string>& paths) {
  if (const json::string* text = tree.if_string(); text != nullptr) {
    const std::filesystem::path path(std::string(text->data(), text->size()));
    const std::string name = path.filename();
    if (name == "kgpu-runtime" || name.starts_with("nvidia-container-runtime")) {
      paths.insert(path.string());
    }
  } else if (tree.is_object()) {
    for (const auto& item : tree.get_object()) {
      FindRuntimes(item.value(), paths);
    }
  } else if (tree.is_array()) {
    for (const json::value& item : tree.get_array()) {
      FindRuntimes(item, paths);
    }
  }
}

class Checker {
 public:
  Checker(const sys::Root& host, sys::ProgramRunner& runner, const CheckInput& input)
      : host_(host), runner_(runner), input_(input), engine_(*input.engine) {}

  std::vector<Finding> Check() {
    CheckRecord();
    CheckFiles();
    CheckRuntimes();
    CheckDaemon();
    if (ReadsCdi()) {
      CheckCdi();
    }
    if (!runtimes_.empty()) {
      CheckBook();
    }
    if (!ReadsCdi() && runtimes_.empty() && !engine_.version) {
      Add(fmt::format("{}: it is not known whether it reads CDI, and it has no runtime of kgpu's",
                      engine_.note.empty() ? engine_.Name() : engine_.note),
          Configure());
    } else if (!ReadsCdi() && runtimes_.empty()) {
      Add(fmt::format("{} {} does not read CDI and has no runtime of kgpu's: its containers get no "
                      "GPU",
                      engine_.Name(), engine_.version_text),
          Configure());
    }
    return std::move(findings_);
  }

 private:
  void Add(std::string text, std::string mend) {
    findings_.push_back({std::move(text), std::move(mend)});
  }

  std::string Configure() const {
    return fmt::format("kgpu runtime configure --engine {}", ToString(engine_.kind));
  }

  bool ReadsCdi() const {
    if (input_.live && input_.live->ok() && (*input_.live)->reads_cdi) {
      return *(*input_.live)->reads_cdi;
    }
    const bool was_switched_on = input_.record != nullptr && input_.record->expected.cdi == true;
    return engine_.cdi == CdiSupport::kAlways || engine_.cdi == CdiSupport::kDefault ||
           was_switched_on;
  }

  void CheckRecord() {
    if (input_.record == nullptr) {
      return;
    }
    if (input_.record->phase != Phase::kApplied) {
      Add("an earlier change was cut off half-way",
          Configure() + " goes on with it, kgpu runtime revert takes it back");
      return;
    }
    // What could not be taken back is what somebody else has changed.
    const auto way_back = PlanRevert(host_, engine_.Id(), *input_.record, &engine_);
    if (!way_back.ok()) {
      return;  // of a file that is broken the others tell
    }
    for (const std::string_view note : way_back->notes) {
      if (note.find(" is not empty: ") != std::string_view::npos) {
        continue;  // a table of ours that others put keys into
      }
      is_changed_since_ = true;
      Add(std::string(note.substr(0, note.find(": left "))),
          Configure() + " sets it again, kgpu runtime revert takes back the rest");
    }
  }

  void CheckFiles() {
    const auto files = ReadEngineFiles(host_, engine_);
    if (!files.ok()) {
      Add(std::string(Message(files.status())), "mend the file");
      return;
    }
    std::vector<NamedText> texts{{engine_.config_file, files->main.value_or("")},
                                 {files->drop_in_path, files->drop_in.value_or("")}};
    texts.insert(texts.end(), files->others.begin(), files->others.end());
    bool is_well = true;
    for (const NamedText& text : texts) {
      const auto document = edit::Document::Open(text.text, text.path, SyntaxOf(engine_));
      if (document.ok()) {
        FindRuntimes(document->tree(), runtimes_);
      } else {
        is_well = false;
        Add(std::string(Message(document.status())), "mend the file: the engine would not start");
      }
    }
    if (const Status status = Validate(engine_, host_, runner_); is_well && !status.ok()) {
      Add(std::string(Message(status)), "mend the file: the engine would not start");
    }
  }

  void CheckRuntimes() {
    for (const std::string& path : runtimes_) {
      const std::string program = path.starts_with('/') ? path : FindProgram(host_, path);
      sys::RunRequest request;
      request.argv = {program, "--version"};
      request.root = host_.path();
      if (program.empty() || !host_.Exists(program)) {
        Add(fmt::format("{} is configured as a runtime and is not there", path), Configure());
        continue;
      }
      const auto result = runner_.Run(request);
      if (!result.ok() || !result->IsSuccess()) {
        Add(fmt::format(
                "{} does not run: {}", program,
                result.ok() ? sys::Describe(*result) : std::string(Message(result.status()))),
            "install runc or crun, or mend /etc/kgpu/runtime.json");
      }
    }
  }

  void CheckDaemon() {
    if (engine_.kind == Kind::kPodman) {
      return;
    }
    if (!engine_.daemon) {
      Add(fmt::format("{} does not run", engine_.Name()),
          engine_.unit.empty() ? "start it" : fmt::format("systemctl start {}", engine_.unit));
      return;
    }
    if (input_.live && !input_.live->ok()) {
      Add(fmt::format("{} does not answer: {}", engine_.Name(), Message(input_.live->status())),
          CommandFor(engine_, true));
      return;
    }
    CheckInForce();
  }

  // What the engine says counts; where it does not tell, the times of file and start do.
  void CheckInForce() {
    const Record* record = input_.record;
    if (is_changed_since_) {
      return;  // so nobody knows what it should show
    }
    if (record != nullptr && input_.live && !Shows(**input_.live, record->expected)) {
      Add(fmt::format("{} runs without what its files say: {}", engine_.Name(),
                      record->reach_reason),
          CommandFor(engine_, record->pending != Reach::kReload));
    } else if (record != nullptr && PendingReach(*record, engine_) == Reach::kRestart) {
      Add(fmt::format("{} was not restarted since its files were changed: {}", engine_.Name(),
                      record->reach_reason),
          CommandFor(engine_, true));
    } else if (engine_.kind != Kind::kDocker && IsFileNewer()) {
      Add(fmt::format("{} was started before {} was changed: it runs with an older one",
                      engine_.Name(), engine_.config_file),
          CommandFor(engine_, true));
    }
  }

  bool IsFileNewer() const {
    if (!engine_.daemon) {
      return false;
    }
    const auto file = host_.Stat(engine_.config_file);
    // Starts are known to a second or two.
    const auto started = engine_.daemon->started + std::chrono::seconds(2);
    return file.ok() && !engine_.is_template &&
           WallTime(std::chrono::seconds(file->st_mtim.tv_sec)) > started;
  }

  void CheckCdi() {
    const cdi::FolderContents contents = cdi::ReadFolders(
        host_, {std::string(cdi::kStaticFolder), std::string(cdi::kDynamicFolder)});
    bool has_gpu = false;
    for (const cdi::SpecFile& file : contents.files) {
      has_gpu |= file.problem.empty() && file.spec.kind.ends_with("/gpu");
      for (const cdi::Finding& finding : cdi::CheckSpec(file.spec, host_)) {
        if (file.problem.empty()) {
          Add(fmt::format("{}: {}", file.path, finding.text), std::string(kGenerate));
        }
      }
      if (!file.problem.empty()) {
        Add(file.problem, "mend or remove it");
      }
    }
    if (!has_gpu) {
      Add("no CDI spec declares a GPU", std::string(kGenerate));
    }
    for (const cdi::Conflict& conflict : contents.conflicts) {
      Add(fmt::format("{}: declared by {}: engines refuse it", conflict.name,
                      Join(conflict.paths, " and ")),
          "remove all but one");
    }
  }

  void CheckBook() {
    const auto text = host_.ReadFile(inject::kInjectionBookPath, size_t{16} << 20);
    if (!text.ok()) {
      Add(fmt::format("{} is not there: kgpu-runtime does not know this host's GPUs",
                      inject::kInjectionBookPath),
          std::string(kGenerate));
      return;
    }
    const auto book = inject::ParseBook(*text, host_.At(inject::kInjectionBookPath));
    if (!book.ok()) {
      Add(std::string(Message(book.status())), std::string(kGenerate));
    }
  }

  const sys::Root& host_;
  sys::ProgramRunner& runner_;
  const CheckInput& input_;
  const Engine& engine_;
  std::set<std::string> runtimes_;
  bool is_changed_since_ = false;  // what kgpu wrote, by others
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> CheckEngine(const sys::Root& host, sys::ProgramRunner& runner,
                                 const CheckInput& input) {
  return Checker(host, runner, input).Check();
}

}  // namespace kgpu::engine
