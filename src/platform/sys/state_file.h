// A file that keeps the state of a program from one run to the next: replaced as a whole, limited
// in size, and set aside if it is damaged. For records that say how to undo changes of a host, see
// host/change/journal_file.h.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/platform/base/status.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::sys {

struct StateFileOptions {
  size_t most_bytes = size_t{1} << 20;
  mode_t mode = 0600;
  Durability durability = Durability::kDisk;
};

// The T of a function that returns StatusOr<T>.
template <typename Parse>
using StateOf = typename std::invoke_result_t<Parse, std::string_view>::value_type;

// Thread: any, one at a time. All functions block.
class StateFile {
 public:
  // `path`: absolute, or relative to the working folder.
  StateFile(std::string path, StateFileOptions options)
      : path_(std::move(path)), options_(options) {}

  const std::string& path() const { return path_; }

  // Nothing if there is no file, or no folder. Errors: OutOfRange (over the limit),
  // FailedPrecondition (not a regular file), and those of open(2) and read(2).
  StatusOr<std::optional<std::string>> ReadText() const;

  // Parses the text with `parse`: StatusOr<State>(std::string_view). Nothing if there is no file.
  // Errors: those of ReadText and of `parse`. The file stays as it is.
  template <typename Parse>
  auto Read(Parse parse) const -> StatusOr<std::optional<StateOf<Parse>>> {
    ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadText());
    if (!text) {
      return std::optional<StateOf<Parse>>();
    }
    auto state = parse(std::string_view(*text));
    if (!state.ok()) {
      return state.status();
    }
    return std::optional<StateOf<Parse>>(*std::move(state));
  }

  // The same, but a damaged file is renamed to NAME.bad and is no state: `damage` says why it was
  // not read, and where it is now. Older ones are NAME.bad.1 and NAME.bad.2. Errors: those after
  // which reading again may help.
  template <typename Parse>
  auto ReadOrSetAside(Parse parse, Status& damage) const
      -> StatusOr<std::optional<StateOf<Parse>>> {
    auto state = Read(std::move(parse));
    if (state.ok() || !IsDamage(state.status())) {
      return state;
    }
    damage = SetAside(state.status());
    return std::optional<StateOf<Parse>>();
  }

  // Makes the folder if there is none. Errors: OutOfRange (over the limit), and those of
  // AtomicFile.
  Status Write(std::string_view text) const;
  // Not an error if there is none. Errors: those of unlink(2).
  Status Remove() const;

  // Renames the file to NAME.bad. Returns `why` with the place where it is now.
  Status SetAside(const Status& why) const;
  // Whether a file with this error of Read will not get better.
  static bool IsDamage(const Status& status);

 private:
  std::string path_;
  StateFileOptions options_;
};

}  // namespace kgpu::sys
