// Lends GPUs: one change of the ledger after the other, each on the disk before anybody hears of
// it. So whenever the process is killed, the ledger has every loan that somebody knows of.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "src/node/loans/choose.h"
#include "src/node/loans/ledger.h"
#include "src/node/loans/loan_request.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::loans {

// Where waiting for a disk is allowed. `done` is called later, on the lender's thread, unless the
// function returns false: too much waits already.
struct LenderDisk {
  std::function<bool(Ledger ledger, std::function<void(const Status&)> done)> save;
  std::function<bool(std::function<void(StatusOr<Ledger>)> done)> load;
};

// Lives on one thread, like all that it calls.
class Lender {
 public:
  using Choose = std::function<StatusOr<Choice>(const LoanRequest&, const Ledger&)>;
  struct Lent {
    Loan loan;
    bool is_new = true;  // false: the holder had it before
  };

  // `ledger` is what the disk has, or why it could not be read: nothing is then lent or ended until
  // Retry finds it. `changed` is called after ledger(), LoanOf() or problem() has changed.
  Lender(const Clock& clock, StatusOr<Ledger> ledger, LenderDisk disk, Choose choose,
         std::function<void()> changed);
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

  // A holder that has a loan gets the same one again. Errors: those of `choose`, ResourceExhausted
  // (too many loans or requests), DataLoss (the ledger is not readable or writable, with the fix).
  void Lend(LoanRequest request, const std::function<void(StatusOr<Lent>)>& done);
  // The loan that Lend would make now, or its error; changes nothing. A holder that has a loan
  // is not considered.
  StatusOr<Choice> Check(const LoanRequest& request) const;
  // An unknown loan has ended. Errors: ResourceExhausted, DataLoss.
  void End(std::string id, const std::function<void(const Status&)>& done);
  // Reads the ledger again if it could not be read, and writes it again, as it is, if it could not
  // be written: so problem() ends with its cause. Call it now and then while there is a problem.
  void Retry();

  // What is lent, as on the disk; empty while is_known() is false.
  const Ledger& ledger() const { return ledger_; }
  bool is_known() const { return load_status_.ok(); }
  // The loan that has the GPU, or is about to; null: none.
  const Loan* LoanOf(const device::GpuUuid& gpu) const;
  // What is lent once the disk has answered.
  const Ledger& pending() const { return pending_; }
  // Why the ledger is not readable or writable, with the fix; empty: it is.
  std::string problem() const;

 private:
  using Step = std::function<void()>;
  // False: too many wait.
  bool Enqueue(Step step);
  void Next();
  void RunLend(const LoanRequest& request, const std::function<void(StatusOr<Lent>)>& done);
  void RunEnd(const std::string& id, const std::function<void(const Status&)>& done);
  void RunRetry();
  void Reload();
  // Makes `next` the ledger once it is on the disk.
  void Save(const Ledger& next, const std::function<void(const Status&)>& done);

  const Clock& clock_;
  const LenderDisk disk_;
  const Choose choose_;
  const std::function<void()> changed_;
  Ledger ledger_;
  Ledger pending_;  // on its way to the disk; else equal to ledger_
  Status load_status_;
  Status save_status_;
  std::deque<Step> steps_;
  bool is_busy_ = false;
};

}  // namespace kgpu::loans
