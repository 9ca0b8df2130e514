// Shared by tests of the probe: a control file for the fake library, and a loop that runs until
// something is true.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::probe {

// The programs under test, from the build.
inline constexpr char kProbeProgram[] = KGPU_TEST_PROBE;
inline constexpr char kFakeNvml[] = KGPU_TEST_FAKE_NVML;
inline constexpr char kFakeNvmlV1[] = KGPU_TEST_FAKE_NVML_V1;

// Changes what the fake library does (fake_nvml.cc lists the commands).
class FakeNvmlControl {
 public:
  FakeNvmlControl() { Set(""); }
  // Atomic, so that the library never reads half of it.
  void Set(std::string_view lines) {
    dir_.WriteFile("next", lines);
    if (rename(dir_.At("next").c_str(), dir_.At("control").c_str()) != 0) {
      std::abort();
    }
  }
  std::vector<std::string> environment() const {
    return {"FAKE_NVML=" + dir_.At("control"), "ASAN_OPTIONS=detect_leaks=0"};
  }

 private:
  TempDir dir_;
};

// Runs the loop until `done` returns true; false after `limit` of real time.
inline bool RunUntil(EpollLoop& loop, const std::function<bool()>& done,
                     std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const SteadyTime end = loop.clock().Now() + limit;
  std::function<void()> look = [&] {
    if (done() || loop.clock().Now() >= end) {
      loop.Quit();
    } else {
      loop.After(std::chrono::microseconds(500), look);
    }
  };
  look();
  loop.Run();
  return done();
}

}  // namespace kgpu::probe
