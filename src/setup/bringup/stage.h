// The parts of a GPU node, in the order in which they are brought up. Each is another kgpu command
// that can be run by hand as well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/setup/bringup/record.h"

namespace kgpu::bringup {

enum class Condition : uint8_t {
  kReady,    // nothing to do
  kNeeded,   // Do is needed
  kBlocked,  // only a person can continue; the text says how
};

struct Look {
  Condition condition = Condition::kReady;
  std::string text;  // for people, one line
};

enum class Ending : uint8_t {
  kDone,
  kWaits,  // for a restart of the host, or a person: then call again
};

struct Outcome {
  Ending ending = Ending::kDone;
  std::string text;
};

// The thing on the host that somebody else than kgpu may have installed: a driver.
struct Levels {
  std::vector<std::string> names{};  // unique, at most one; empty: nothing is installed
  std::string top{};                 // for people
  bool is_whole = false;             // completely installed: Do would replace it
  std::string by_hand{};             // what a person can do instead: the end of a sentence
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::string_view id() const = 0;     // "driver"
  virtual std::string_view title() const = 0;  // "the driver"
  // Whether `node down` must revert Do.
  virtual bool LeavesTraces() const = 0;
  // Whether anything that Undo reverts is present, whoever put it there.
  virtual bool HasTraces() const = 0;
  // Empty for a stage without such things. Errors: those of reading what it consists of.
  virtual StatusOr<Levels> LevelsThere() const { return Levels{}; }
  // Called on all stages, before the first one starts and when all are done: they keep state in
  // between. Errors: those of the record.
  virtual Status Begin() { return OkStatus(); }
  virtual Status End() { return OkStatus(); }
  // Changes nothing.
  virtual Look LookAt() = 0;
  // What Do and Undo would do, for people; change nothing.
  virtual StatusOr<std::string> Preview() = 0;
  virtual StatusOr<std::string> PreviewUndo() = 0;
  // Both can run again after a kill at any point.
  virtual StatusOr<Outcome> Do() = 0;
  virtual StatusOr<Outcome> Undo() = 0;
};

}  // namespace kgpu::bringup
