#include "src/node/loans/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "src/node/config/tree_reader.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/located.h"

namespace kgpu::loans {
namespace {

namespace json = boost::json;

constexpr uint64_t kVersion = 1;
constexpr size_t kMaxIdSize = 64;
constexpr size_t kMaxModelSize = 128;
constexpr uint64_t kMaxNext = 1'000'000'000'000;
constexpr std::array<std::string_view, 3> kLedgerKeys = {"version", "next", "loans"};
constexpr std::array<std::string_view, 6> kLoanKeys = {"id",   "holder", "model",
                                                       "gpus", "slices", "since"};

bool IsHolderCharacter(char c) {
  return IsAlphanumeric(c) || std::string_view("-_.:/").find(c) != std::string_view::npos;
}

Status CheckId(std::string_view id) {
  const bool is_valid =
      !id.empty() && id.size() <= kMaxIdSize &&
      std::ranges::all_of(id, [](char c) { return IsAlphanumeric(c) || c == '-'; });
  return is_valid ? OkStatus() : InvalidArgument("\"{}\" is not the id of a loan", Printable(id));
}

Status CheckModel(std::string_view model) {
  return !model.empty() && model.size() <= kMaxModelSize
             ? OkStatus()
             : InvalidArgument("\"{}\" is not a GPU model", Printable(model));
}

WallTime WholeSeconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

// People only read it: a date that is not understood costs the date, not the ledger with all loans.
WallTime ReadSince(std::string_view text) {
  const StatusOr<WallTime> time = ParseTime(text);
  return time.ok() ? WholeSeconds(*time) : WallTime();
}

Loan ReadLoan(const config::Node& node) {
  Loan loan;
  bool has_since = false;
  node.ForEachField(kLoanKeys, [&](std::string_view name, const config::Node& field) {
    if (name == "id") {
      config::Set(loan.id, field.CheckedString(&CheckId));
    } else if (name == "holder") {
      config::Set(loan.holder, field.CheckedString(&CheckHolder));
    } else if (name == "model") {
      config::Set(loan.model, field.CheckedString(&CheckModel));
    } else if (name == "gpus") {
      field.ForEachItem([&loan](const config::Node& item) {
        const auto text = item.String();
        if (auto gpu = text ? item.Accept(device::GpuUuid::Parse(*text)) : std::nullopt) {
          loan.gpus.push_back(*std::move(gpu));
        }
      });
    } else if (name == "slices") {
      loan.slices = ReadSlices(field);
      if (loan.slices.empty()) {
        field.Error("must be left out of a loan of whole GPUs");
      }
    } else if (const auto text = field.String()) {
      has_since = true;
      loan.since = ReadSince(*text);
    }
  });
  if (loan.id.empty() || loan.model.empty() || !has_since) {
    node.Error("a loan needs id, holder, model, gpus and since");
  }
  return loan;
}

}  // namespace

Status CheckHolder(std::string_view holder) {
  if (holder.empty() || holder.size() > kMaxHolderSize || !IsAlphanumeric(holder.front()) ||
      !std::ranges::all_of(holder, IsHolderCharacter)) {
    return InvalidArgument(
        "\"{}\" must be 1 to {} letters, digits, \"-\", \"_\", \".\", \":\" or \"/\", with a "
        "letter or digit first: fn/hello/4f1c",
        Printable(holder), kMaxHolderSize);
  }
  return OkStatus();
}

const Loan* Ledger::FindById(std::string_view id) const {
  const auto found = std::ranges::find(loans_, id, &Loan::id);
  return found == loans_.end() ? nullptr : &*found;
}

const Loan* Ledger::FindByHolder(std::string_view holder) const {
  const auto found = std::ranges::find(loans_, holder, &Loan::holder);
  return found == loans_.end() ? nullptr : &*found;
}

const Loan* Ledger::FindByGpu(const device::GpuUuid& gpu) const {
  const auto found = std::ranges::find_if(loans_, [&gpu](const Loan& loan) {
    return std::ranges::find(loan.gpus, gpu) != loan.gpus.end();
  });
  return found == loans_.end() ? nullptr : &*found;
}

const Loan* Ledger::FindBySlot(std::string_view slot_id) const {
  const auto found = std::ranges::find_if(loans_, [slot_id](const Loan& loan) {
    return std::ranges::find(loan.slices, slot_id, &slices::SliceSlot::id) != loan.slices.end();
  });
  return found == loans_.end() ? nullptr : &*found;
}

LentSlices Ledger::slices() const {
  LentSlices slices;
  for (const Loan& loan : loans_) {
    slices.insert(slices.end(), loan.slices.begin(), loan.slices.end());
  }
  return slices;
}

// Whether nobody has what is in `loan`.
Status Ledger::CheckFree(const Loan& loan) const {
  const auto lent = [](std::string_view what, const Loan& other) {
    return AlreadyExists("{} is lent to {} already", what, other.holder);
  };
  for (const Loan& other : loans_) {
    for (const device::GpuUuid& gpu : loan.gpus) {
      const bool is_whole = loan.slices.empty() || other.slices.empty();
      if (is_whole && std::ranges::find(other.gpus, gpu) != other.gpus.end()) {
        return lent(gpu.str(), other);
      }
    }
  }
  for (const slices::SliceSlot& slice : loan.slices) {
    if (const Loan* other = FindBySlot(slice.id)) {
      return lent(slice.id, *other);
    }
  }
  return OkStatus();
}

// Whether `loan` can be added, whatever its id.
Status Ledger::Check(const Loan& loan) const {
  RETURN_IF_ERROR(CheckHolder(loan.holder));
  if (loans_.size() >= kMaxLoans) {
    return ResourceExhausted("{} loans are the limit: end one", kMaxLoans);
  }
  if (loan.gpus.empty() || loan.gpus.size() > kMaxGpusOfLoan) {
    return InvalidArgument("a loan has 1 to {} GPUs, not {}", kMaxGpusOfLoan, loan.gpus.size());
  }
  if (FindByHolder(loan.holder) != nullptr) {
    return AlreadyExists("{} has a loan already", loan.holder);
  }
  for (auto gpu = loan.gpus.begin(); gpu != loan.gpus.end(); ++gpu) {
    if (std::find(loan.gpus.begin(), gpu, *gpu) != gpu) {
      return AlreadyExists("{} is lent to {} already", gpu->str(), loan.holder);
    }
  }
  RETURN_IF_ERROR(CheckSlices(loan.slices));
  if (!loan.slices.empty() && GpusOf(loan.slices) != loan.gpus) {
    return InvalidArgument("the GPUs of {} are not those of its slices", loan.holder);
  }
  return CheckFree(loan);
}

StatusOr<Loan> Ledger::Add(Loan loan, WallTime since) {
  RETURN_IF_ERROR(Check(loan));
  RETURN_IF_ERROR(CheckClock(since));
  loan.since = WholeSeconds(since);
  // With the time: a ledger that was lost does not give an id a second time.
  loan.id = fmt::format(
      "{:x}-{}", static_cast<uint64_t>(std::chrono::system_clock::to_time_t(loan.since)), next_);
  next_ = next_ == kMaxNext ? 1 : next_ + 1;
  return loans_.emplace_back(std::move(loan));
}

bool Ledger::Remove(std::string_view id) {
  return std::erase_if(loans_, [id](const Loan& loan) { return loan.id == id; }) != 0;
}

std::string PrintLedger(const Ledger& ledger) {
  json::array loans;
  for (const Loan& loan : ledger.loans_) {
    json::array gpus;
    for (const device::GpuUuid& gpu : loan.gpus) {
      gpus.emplace_back(gpu.str());
    }
    json::object object{
        {"id", loan.id}, {"holder", loan.holder}, {"model", loan.model}, {"gpus", std::move(gpus)}};
    if (!loan.slices.empty()) {
      object["slices"] = PrintSlices(loan.slices);
    }
    object["since"] = FormatTime(loan.since);
    loans.push_back(std::move(object));
  }
  return doc::Print(
      json::object{{"version", kVersion}, {"next", ledger.next_}, {"loans", std::move(loans)}},
      doc::Format::kJson);
}

StatusOr<Ledger> ParseLedger(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(
      const doc::Located document,
      doc::ParseLocated(text, doc::Format::kJson, file, doc::Limits{.bytes = kMaxLedgerBytes}));
  config::Problems problems(file);
  const config::Node root(document, problems);
  Ledger ledger;
  std::optional<uint64_t> version;
  std::optional<uint64_t> next;
  root.ForEachField(kLedgerKeys, [&](std::string_view name, const config::Node& field) {
    if (name == "version") {
      version = field.Number(kVersion, kVersion);
    } else if (name == "next") {
      next = field.Number(1, kMaxNext);
    } else {
      field.ForEachItem([&](const config::Node& item) {
        Loan loan = ReadLoan(item);
        const Status status = ledger.FindById(loan.id) != nullptr
                                  ? AlreadyExists("{} is the id of two loans", loan.id)
                                  : ledger.Check(loan);
        if (!status.ok()) {
          item.Error("{}", Message(status));
        } else {
          ledger.loans_.push_back(std::move(loan));
        }
      });
    }
  });
  RETURN_IF_ERROR(problems.ToStatus());
  if (!version || !next) {
    return InvalidArgument("{}: this is no ledger of lent GPUs: version or next is missing", file);
  }
  ledger.next_ = *next;
  return ledger;
}

}  // namespace kgpu::loans
