// Main of run.h.
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <vector>

#include "src/container/shim/real_runtime.h"
#include "src/container/shim/run.h"
#include "src/container/shim/runtime_log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::shim {
namespace {

constexpr std::string_view kHookName = "nvidia-container-runtime-hook";

// Docker offers --gpus where it finds a program of this name, and writes it into the spec as a
// hook. kgpu-runtime takes the entry out again; it is called only where another runtime was used.
constexpr char kHookAnswer[] =
    "kgpu: docker --gpus requested GPUs for this container, but its runtime cannot provide them: "
    "run `kgpu runtime configure --engine docker --set-default`, or start it with --runtime "
    "nvidia\n";

bool IsCalled(const char* program, std::string_view name) {
  const std::string_view path(program);
  return path.substr(path.rfind('/') + 1) == name;
}

// Memory goes back when the runtime is started, a millisecond from now: giving it to the kernel and
// asking for it again in between costs as much as the work.
void KeepMemory() {
  constexpr int kPiece = 512 << 10;
  constexpr int kNever = 1 << 30;
  (void)mallopt(M_TOP_PAD, kPiece);
  (void)mallopt(M_TRIM_THRESHOLD, kNever);
  (void)mallopt(M_MMAP_THRESHOLD, kNever);
}

// The configuration. One that cannot be read must not keep containers from being stopped.
StatusOr<Config> ConfigFor(const CommandLine& line, const sys::Root& root) {
  StatusOr<Config> config = ReadConfig(root);
  if (!config.ok() && !line.starts_container) {
    return Config();
  }
  return config;
}

// Returns only with an error.
Status BecomeRuntime(const CommandLine& line, const Config& config, const sys::Root& engine,
                     char** argv, const std::vector<char*>& environment) {
  struct stat self{};
  if (::stat("/proc/self/exe", &self) != 0) {
    return ErrnoStatus(errno, "stat /proc/self/exe");
  }
  ASSIGN_OR_RETURN(std::string runtime, FindRealRuntime(engine, config.runtimes, self));
  // crun looks at the name it is called by.
  std::vector<char*> arguments = {runtime.data()};
  for (char** argument = argv + 1 + line.own; *argument != nullptr; ++argument) {
    arguments.push_back(*argument);
  }
  arguments.push_back(nullptr);
  ::execve(runtime.c_str(), arguments.data(), environment.data());
  return ErrnoStatus(errno, fmt::format("start {}", runtime));
}

Status Run(const CommandLine& line, char** argv, char** environment) {
  std::string marker;
  ASSIGN_OR_RETURN(const std::vector<char*> marked,
                   MarkedEnvironment(environment, getpid(), marker));
  ASSIGN_OR_RETURN(const sys::Root state, sys::Root::Open(std::string(line.root)));
  ASSIGN_OR_RETURN(const sys::Root engine, sys::Root::Open("/"));
  ASSIGN_OR_RETURN(const Config config, ConfigFor(line, state));
  if (line.starts_container) {
    const RealClock clock;
    RETURN_IF_ERROR(EditBundle(line, config, {state, engine, clock}));
  }
  return BecomeRuntime(line, config, engine, argv, marked);
}

}  // namespace

int Main(int argc, char** argv, char** environment) {
  if (argc < 1) {
    return 1;
  }
  if (IsCalled(argv[0], kHookName)) {
    (void)std::fputs(kHookAnswer, stderr);
    return 1;
  }
  KeepMemory();
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const CommandLine line = ScanCommandLine(arguments);
  std::string problem;
  try {
    problem = Message(Run(line, argv, environment));
  } catch (const std::exception& e) {
    problem = e.what();
  }
  const std::string text = fmt::format("kgpu-runtime: {}", problem);
  WriteRuntimeLog(line, text, RealClock().WallNow());
  (void)std::fputs(fmt::format("{}\n", text).c_str(), stderr);
  return 1;
}

}  // namespace kgpu::shim
