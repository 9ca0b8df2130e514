// Who has borrowed which GPUs: a value, and its text. The agent keeps it in one file, and answers
// nobody before that file is on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/node/loans/lent_slices.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::loans {

inline constexpr size_t kMaxLoans = 256;
inline constexpr size_t kMaxGpusOfLoan = 64;
inline constexpr size_t kMaxHolderSize = 200;
// More than the largest ledger needs.
inline constexpr size_t kMaxLedgerBytes = size_t{8} << 20;

struct Loan {
  std::string id{};      // "6565f2a0-17": never used twice
  std::string holder{};  // "fn/hello/4f1c"
  std::string model{};   // of all its GPUs: "A100-SXM4-80GB"
  std::vector<device::GpuUuid> gpus{};
  // Empty: the GPUs are lent whole; else `gpus` are those that they are cut from.
  LentSlices slices{};
  WallTime since{};  // in whole seconds
  bool operator==(const Loan&) const = default;
};

// A name of up to kMaxHolderSize letters, digits, "-", "_", ".", ":" and "/", with a letter or a
// digit first. Errors: InvalidArgument.
Status CheckHolder(std::string_view holder);

// Invariants: a GPU is lent whole or by slices, never both; a whole GPU and a slice are in one loan
// at most, a holder has one loan at most, ids differ.
class Ledger {
 public:
  const std::vector<Loan>& loans() const { return loans_; }  // oldest first
  // Null: there is none.
  const Loan* FindById(std::string_view id) const;
  const Loan* FindByHolder(std::string_view holder) const;
  // The oldest, if its slices are lent to several.
  const Loan* FindByGpu(const device::GpuUuid& gpu) const;
  const Loan* FindBySlot(std::string_view slot_id) const;
  // All slices that are lent.
  LentSlices slices() const;

  // Adds a loan, which gets its id and `since` in whole seconds. The reference is valid until the
  // next change. Errors: ResourceExhausted (kMaxLoans), InvalidArgument (holder, no GPU or too many
  // of them, no slices of its GPUs), AlreadyExists (the holder has a loan, or a GPU or slice is
  // lent).
  StatusOr<Loan> Add(Loan loan, WallTime since);
  // False: there is no such loan.
  bool Remove(std::string_view id);
  bool operator==(const Ledger&) const = default;

 private:
  friend StatusOr<Ledger> ParseLedger(std::string_view text, std::string_view file);
  friend std::string PrintLedger(const Ledger& ledger);
  Status Check(const Loan& loan) const;
  Status CheckFree(const Loan& loan) const;

  std::vector<Loan> loans_;
  uint64_t next_ = 1;  // part of the next id
};

// JSON, which ParseLedger reads back to the same value.
std::string PrintLedger(const Ledger& ledger);
// Strict: a ledger of which a part is unreadable would lend GPUs twice. `file` is for errors.
// Errors: InvalidArgument (no ledger, of another version, or one that breaks an invariant).
StatusOr<Ledger> ParseLedger(std::string_view text, std::string_view file);

}  // namespace kgpu::loans
