// What a running engine reports about itself: the proof that a change took effect.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/engine.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

struct LiveFacts {
  std::string version;
  std::vector<std::string> runtimes;  // by name; empty: not reported
  std::string default_runtime;        // empty: not reported
  std::optional<bool> reads_cdi;      // empty: not reported
  std::string note;                   // e.g. "its CRI plugin is off"
  bool operator==(const LiveFacts&) const = default;
};

class EngineApi {
 public:
  virtual ~EngineApi() = default;
  // Asks until `is_good` accepts the answer, for at most `patience`; at least once. Errors: that of
  // the last try (NotFound, Unavailable: nobody answers on its socket), or FailedPrecondition: it
  // answers, but does not report what `wanted` describes.
  virtual StatusOr<LiveFacts> Ask(const Engine& engine, std::chrono::milliseconds patience,
                                  std::string_view wanted,
                                  const std::function<bool(const LiveFacts&)>& is_good) = 0;
};

// Uses the engine's socket below the host's root: Docker's HTTP API, CRI for the others.
class SocketApi final : public EngineApi {
 public:
  explicit SocketApi(const sys::Root& host) : host_(host) {}
  StatusOr<LiveFacts> Ask(const Engine& engine, std::chrono::milliseconds patience,
                          std::string_view wanted,
                          const std::function<bool(const LiveFacts&)>& is_good) override;

 private:
  StatusOr<LiveFacts> AskOnce(const Engine& engine) const;

  const sys::Root& host_;
};

// Parses Docker's response to GET /info. Errors: InvalidArgument (no JSON).
StatusOr<LiveFacts> ReadDockerInfo(std::string_view body);

}  // namespace kgpu::engine
