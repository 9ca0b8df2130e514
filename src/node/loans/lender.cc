#include "src/node/loans/lender.h"

#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::loans {
namespace {

constexpr size_t kMaxSteps = 64;

Status Busy() {
  return ResourceExhausted("{} requests wait for the disk: try again", kMaxSteps);
}

// Whatever its code: it says nothing about the request.
Status LedgerFault(const Status& status) {
  return MakeStatus(StatusCode::kDataLoss, Message(status));
}

}  // namespace

Lender::Lender(const Clock& clock, StatusOr<Ledger> ledger, LenderDisk disk, Choose choose,
               std::function<void()> changed)
    : clock_(clock),
      disk_(std::move(disk)),
      choose_(std::move(choose)),
      changed_(std::move(changed)),
      load_status_(ledger.status()) {
  if (ledger.ok()) {
    ledger_ = *std::move(ledger);
    pending_ = ledger_;
  } else {
    KGPU_LOG(kError, "lent GPUs unknown", {"reason", Message(load_status_)},
             {"effect", "no GPU is lent"});
  }
}

void Lender::Lend(LoanRequest request, const std::function<void(StatusOr<Lent>)>& done) {
  if (!Enqueue([this, request = std::move(request), done] { RunLend(request, done); })) {
    done(Busy());
  }
}

StatusOr<Choice> Lender::Check(const LoanRequest& request) const {
  if (!load_status_.ok()) {
    return LedgerFault(load_status_);
  }
  return choose_(request, pending_);
}

void Lender::End(std::string id, const std::function<void(const Status&)>& done) {
  if (!Enqueue([this, id = std::move(id), done] { RunEnd(id, done); })) {
    done(Busy());
  }
}

void Lender::Retry() {
  (void)Enqueue([this] { RunRetry(); });
}

const Loan* Lender::LoanOf(const device::GpuUuid& gpu) const {
  const Loan* loan = ledger_.FindByGpu(gpu);
  return loan != nullptr ? loan : pending_.FindByGpu(gpu);
}

std::string Lender::problem() const {
  return std::string(Message(load_status_.ok() ? save_status_ : load_status_));
}

bool Lender::Enqueue(Step step) {
  if (steps_.size() >= kMaxSteps) {
    return false;
  }
  steps_.push_back(std::move(step));
  if (!is_busy_) {
    Next();
  }
  return true;
}

// A step ends with a call of Next, at once or once the disk has answered.
void Lender::Next() {
  is_busy_ = !steps_.empty();
  if (is_busy_) {
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    step();
  }
}

void Lender::RunLend(const LoanRequest& request, const std::function<void(StatusOr<Lent>)>& done) {
  const auto refuse = [&](const Status& status) {
    done(status);
    Next();
  };
  if (!load_status_.ok()) {
    return refuse(LedgerFault(load_status_));
  }
  if (const Loan* loan = ledger_.FindByHolder(request.holder)) {
    done(Lent{.loan = *loan, .is_new = false});
    return Next();
  }
  StatusOr<Choice> choice = choose_(request, ledger_);
  if (!choice.ok()) {
    return refuse(choice.status());
  }
  Ledger next = ledger_;
  const StatusOr<Loan> loan = next.Add({.holder = request.holder,
                                        .model = choice->model,
                                        .gpus = std::move(choice->gpus),
                                        .slices = std::move(choice->slices)},
                                       clock_.WallNow());
  if (!loan.ok()) {
    return refuse(loan.status());
  }
  Save(next, [done, loan = *loan](const Status& status) {
    if (status.ok()) {
      done(Lent{.loan = loan, .is_new = true});
    } else {
      done(status);
    }
  });
}

void Lender::RunEnd(const std::string& id, const std::function<void(const Status&)>& done) {
  if (!load_status_.ok()) {
    done(LedgerFault(load_status_));
    return Next();
  }
  Ledger next = ledger_;
  if (!next.Remove(id)) {
    done(OkStatus());
    return Next();
  }
  Save(next, done);
}

void Lender::RunRetry() {
  if (!load_status_.ok()) {
    Reload();
  } else if (!save_status_.ok()) {
    Save(ledger_, [](const Status&) {});
  } else {
    Next();
  }
}

void Lender::Reload() {
  const bool is_taken = disk_.load([this](StatusOr<Ledger> ledger) {
    load_status_ = ledger.status();
    if (ledger.ok()) {
      KGPU_LOG(kInfo, "lent GPUs known again", {"loans", ledger->loans().size()});
      ledger_ = *std::move(ledger);
      pending_ = ledger_;
    }
    changed_();
    Next();
  });
  if (!is_taken) {
    Next();
  }
}

void Lender::Save(const Ledger& next, const std::function<void(const Status&)>& done) {
  pending_ = next;
  const auto saved = [this, done](const Status& status) {
    if (status.ok()) {
      ledger_ = pending_;
    } else {
      pending_ = ledger_;
    }
    if (!status.ok() && status != save_status_) {
      KGPU_LOG(kWarning, "loan not saved", {"reason", Message(status)});
    }
    save_status_ = status;
    done(status.ok() ? status : LedgerFault(Annotate(status, "nothing was changed")));
    changed_();
    Next();
  };
  if (!disk_.save(next, saved)) {
    saved(ResourceExhausted("the disk is too slow: check dmesg"));
  }
}

}  // namespace kgpu::loans
