#include "tests/functions/worker_kinds.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "src/platform/sys/find_program.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::e2e {
namespace {

constexpr const char* kWorkers = KGPU_SOURCE_DIR "/deploy/functions/";
constexpr const char* kHandlers = KGPU_SOURCE_DIR "/tests/functions/handlers/";
constexpr std::chrono::minutes kBuildTime{4};

void Copy(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(to).parent_path(), error);
  std::filesystem::copy(
      from, to,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing,
      error);
}

}  // namespace

WorkerKind::WorkerKind(std::string runtime) : runtime_(std::move(runtime)) {
  const std::vector<std::pair<std::string, void (WorkerKind::*)()>> makers{
      {"python3", &WorkerKind::MakePython}, {"cpp", &WorkerKind::MakeCpp},
      {"nodejs", &WorkerKind::MakeNode},    {"go", &WorkerKind::MakeGo},
      {"ruby", &WorkerKind::MakeRuby},      {"java", &WorkerKind::MakeJava}};
  for (const auto& [name, maker] : makers) {
    if (name == runtime_) {
      (this->*maker)();
    }
  }
}

WatchdogRun::Settings WorkerKind::Settings(std::vector<std::string> flags) const {
  return {.command = command_,
          .environment = {"HANDLER_DIR=" + dir_.path(), "HANDLER_FILE=" + file_,
                          "HANDLER_NAME=Handler"},
          .flags = std::move(flags)};
}

bool WorkerKind::Find(std::string_view program) {
  const auto root = sys::Root::Open("/");
  program_ = root.ok() ? sys::FindProgram(*root, program) : "";
  if (program_.empty()) {
    problem_ = fmt::format("{} is not installed", program);
  }
  return !program_.empty();
}

void WorkerKind::Build(std::vector<std::string> argv) {
  sys::RunRequest request{.argv = std::move(argv)};
  request.deadline = kBuildTime;
  request.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir_.path(),
                         // Shared: else every test compiles Go's own library.
                         std::string("GOCACHE=") + KGPU_BUILD_DIR + "/go-cache", "GO111MODULE=on",
                         "GOFLAGS=-mod=mod", "GOPROXY=off", "CGO_ENABLED=0"};
  const auto result = sys::RealRunner().Run(request);
  if (!result.ok()) {
    problem_ = Message(result.status());
  } else if (!result->IsSuccess()) {
    problem_ = result->out + result->err;
  }
}

void WorkerKind::MakePython() {
  if (!Find("python3")) {
    return;
  }
  file_ = "handler.py";
  Copy(std::string(kHandlers) + file_, dir_.At(file_));
  command_ = {program_, "-B", std::string(kWorkers) + "python3/worker/kgpu_worker.py"};
}

void WorkerKind::MakeCpp() {
  command_ = {KGPU_CPP_WORKER};
}

void WorkerKind::MakeNode() {
  if (!Find("node")) {
    return;
  }
  file_ = "handler.js";
  Copy(std::string(kHandlers) + file_, dir_.At(file_));
  command_ = {program_, std::string(kWorkers) + "nodejs/worker/kgpu_worker.js"};
}

void WorkerKind::MakeGo() {
  if (!Find("go")) {
    return;
  }
  Copy(std::string(kWorkers) + "go/worker", dir_.At("build"));
  Copy(std::string(kHandlers) + "handler.go", dir_.At("build/handler.go"));
  // Debian's Go has no flag for the folder.
  Build({"/bin/sh", "-c",
         fmt::format("cd {} && {} build -o {} .", dir_.At("build"), program_, dir_.At("handler"))});
  command_ = {dir_.At("handler")};
}

void WorkerKind::MakeRuby() {
  if (!Find("ruby")) {
    return;
  }
  file_ = "handler.rb";
  Copy(std::string(kHandlers) + file_, dir_.At(file_));
  command_ = {program_, std::string(kWorkers) + "ruby/worker/kgpu_worker.rb"};
}

void WorkerKind::MakeJava() {
  if (!Find("javac")) {
    return;
  }
  Build({program_, "-d", dir_.At("classes"), std::string(kWorkers) + "java/worker/KgpuWorker.java",
         std::string(kHandlers) + "Handler.java"});
  if (problem_.empty() && Find("java")) {
    command_ = {program_, "-cp", dir_.At("classes"), "io.grpc.fxwatcher.KgpuWorker"};
  }
}

}  // namespace kgpu::e2e
