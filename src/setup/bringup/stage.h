// The parts of a GPU node, in the order in which they are brought up. Each is another command of
// kgpu that works by hand as well.
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
  kNeeded,   // what Do does is wanted
  kBlocked,  // only a person can go on; the text says how
};

struct Look {
  Condition condition = Condition::kReady;
  std::string text;  // for people, one line
};

enum class Ending : uint8_t {
  kDone,
  kWaits,  // for a fresh start of the host, or a person: the same call goes on afterwards
};

struct Outcome {
  Ending ending = Ending::kDone;
  std::string text;
};

// What lies one upon another there, where a stage can do so: drivers, each in the place of the one
// before.
struct Levels {
  std::vector<std::string> names{};  // that tell each from any other, the one on top last
  std::string top{};                 // the one on top, for people
  bool is_whole = false;             // it is there to the end: Do would put another over it
  // What a person does instead, and what takes the one on top off: whole sentences' ends.
  std::string by_hand{};
  std::string take_off{};
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::string_view id() const = 0;     // "driver"
  virtual std::string_view title() const = 0;  // "the driver"
  // Whether Do is to be undone by `node down`.
  virtual bool LeavesTraces() const = 0;
  // Whether what Undo takes back is there, whoever put it there.
  virtual bool HasTraces() const = 0;
  // None of a stage that has no such. Errors: of reading what tells of them.
  virtual StatusOr<Levels> LevelsThere() const { return Levels{}; }
  // Of all stages, before the first is worked on, and when all are done: what they remember in
  // between. Errors: of the record.
  virtual Status Begin() { return OkStatus(); }
  virtual Status End() { return OkStatus(); }
  // Changes nothing.
  virtual Look LookAt() = 0;
  // What Do and Undo would do, for people; change nothing.
  virtual StatusOr<std::string> Preview() = 0;
  virtual StatusOr<std::string> PreviewUndo() = 0;
  // May run again after a kill at any point, both of them.
  virtual StatusOr<Outcome> Do() = 0;
  virtual StatusOr<Outcome> Undo() = 0;
};

}  // namespace kgpu::bringup
