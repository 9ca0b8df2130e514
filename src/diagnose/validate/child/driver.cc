#include "src/diagnose/validate/child/driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "src/diagnose/validate/protocol.h"

namespace kgpu::validate::child {
namespace {

// One write for each line: a parent that kills us between two has whole lines.
void WriteLine(const char* head, const char* format, va_list arguments) {
  char line[kMaxLine];
  int length = snprintf(line, sizeof(line), "%s", head);
  const int more =
      vsnprintf(line + length, sizeof(line) - static_cast<size_t>(length), format, arguments);
  length = more < 0 ? length : length + more;
  const size_t end = static_cast<size_t>(length) < sizeof(line) - 1 ? static_cast<size_t>(length)
                                                                    : sizeof(line) - 2;
  for (size_t i = 0; i < end; ++i) {
    line[i] = line[i] == '\n' || line[i] == '\0' ? ' ' : line[i];
  }
  line[end] = '\n';
  // A parent that is gone sends SIGPIPE, which ends us.
  (void)!write(STDOUT_FILENO, line, end + 1);
}

}  // namespace

uint64_t NowNs() {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void Driver::Begin(const char* phase) const {
  char line[64];
  const int length = snprintf(line, sizeof(line), "begin %s\n", phase);
  (void)!write(STDOUT_FILENO, line, static_cast<size_t>(length));
}

void Driver::Set(const char* key, const char* format, ...) const {
  char head[64];
  (void)snprintf(head, sizeof(head), "set %s ", key);
  va_list arguments;
  va_start(arguments, format);
  WriteLine(head, format, arguments);
  va_end(arguments);
}

bool Driver::Fail(int code, const char* format, ...) const {
  char head[32];
  (void)snprintf(head, sizeof(head), "fail %d ", code);
  va_list arguments;
  va_start(arguments, format);
  WriteLine(head, format, arguments);
  va_end(arguments);
  return false;
}

void Driver::Preload(const char* path) {
  (void)dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

bool Driver::Load(const char* path) {
  handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    // One text per thread in glibc and musl.
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe)
    return Fail(kNoLibrary, "%s", why == nullptr ? path : why);
  }
  return true;
}

void* Driver::Find(const char* name) const {
  return dlsym(handle_, name);
}

bool Driver::Check(const char* name, cuda_api::Result result, const char* more) const {
  if (result == cuda_api::kSuccess) {
    return true;
  }
  const char* error = nullptr;
  const char* text = nullptr;
  const bool is_known =
      Try<cuda_api::GetErrorTextFn>("cuGetErrorName", result, &error) && error != nullptr &&
      Try<cuda_api::GetErrorTextFn>("cuGetErrorString", result, &text) && text != nullptr;
  return Fail(result, "%s: %s (%d): %s%s%s", name, is_known ? error : "error", result,
              is_known ? text : "unknown to this driver", *more == '\0' ? "" : ": ", more);
}

bool Driver::Compile(const char* ptx, cuda_api::Module* module) const {
  void* symbol = Find("cuModuleLoadDataEx");
  if (symbol == nullptr) {
    return Fail(cuda_api::kNotFound, "cuModuleLoadDataEx not found in the library");
  }
  char log[512] = {};
  cuda_api::JitOption options[] = {cuda_api::kJitErrorLogBuffer, cuda_api::kJitErrorLogBufferSize};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA takes numbers in the place of pointers
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log) - 1)};
  const cuda_api::Result result =
      reinterpret_cast<cuda_api::ModuleLoadDataExFn*>(symbol)(module, ptx, 2, options, values);
  return Check("cuModuleLoadDataEx", result, log);
}

}  // namespace kgpu::validate::child
