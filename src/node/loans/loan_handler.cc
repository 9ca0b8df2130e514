#include "src/node/loans/loan_handler.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <string_view>
#include <utility>

#include "src/node/loans/ledger_file.h"
#include "src/node/loans/loan_request.h"
#include "src/node/loans/loan_view.h"
#include "src/node/loans/withhold.h"
#include "src/node/pods/background.h"
#include "src/node/telemetry/own_series.h"
#include "src/platform/base/log.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::loans {
namespace {

namespace json = boost::json;

constexpr std::string_view kPath = "/v1/loans";
constexpr std::string_view kBelow = "/v1/loans/";
constexpr std::string_view kCheckPath = "/v1/loans/check";
constexpr std::chrono::seconds kRetryEvery{10};
constexpr std::chrono::seconds kEndAgain{10};

http::Response LoanJsonResponse(int code, const json::value& value) {
  return http::JsonResponse(code, doc::PrintLine(value) + "\n");
}

// 422 cannot succeed on this host, 409 may succeed later, 503 is our trouble.
http::Response LoanRefused(const Status& status) {
  const int code = status.code() == StatusCode::kInvalidArgument      ? 400
                   : status.code() == StatusCode::kFailedPrecondition ? 422
                   : status.code() == StatusCode::kUnavailable        ? 409
                                                                      : 503;
  return LoanJsonResponse(code, json::object{{"error", std::string(Message(status))}});
}

StatusOr<loans::Ledger> LoadSoon(sys::DiskWorker& disk, const std::string& path) {
  using Result = StatusOr<loans::Ledger>;
  return disk.Await<Result>([path] { return loans::LoadLedger(path); })
      .value_or(DeadlineExceeded(
          "{}: it is not known which GPUs are lent: the disk does not respond: check dmesg", path));
}

loans::LenderDisk LenderDiskOn(sys::DiskWorker& disk, const std::string& path) {
  return {.save =
              [&disk, path](loans::Ledger ledger, const std::function<void(const Status&)>& done) {
                return disk.Post(
                    [path, ledger = std::move(ledger), done]() -> sys::DiskWorker::Done {
                      return [status = loans::SaveLedger(path, ledger), done] { done(status); };
                    },
                    done);
              },
          .load =
              [&disk, path](const std::function<void(StatusOr<loans::Ledger>)>& done) {
                return disk.Post(
                    [path, done]() -> sys::DiskWorker::Done {
                      return [ledger = loans::LoadLedger(path), done] { done(ledger); };
                    },
                    done);
              }};
}

std::set<device::GpuUuid> GpusOf(const pools::Assignment& assignment) {
  std::set<device::GpuUuid> gpus;
  for (const pools::Resource& resource : assignment.resources) {
    for (const pools::Slot& slot : resource.slots) {
      gpus.insert(slot.gpu);
    }
  }
  return gpus;
}

}  // namespace

LoanHandler::LoanHandler(EventLoop& loop, sys::DiskWorker& disk, const std::string& path,
                         slices::SliceFilesOptions files, node::Effects& effects)
    : loop_(loop),
      effects_(effects),
      files_(loop, pods::BackgroundOn(disk), std::move(files)),
      lender_(
          loop.clock(), LoadSoon(disk, path), LenderDiskOn(disk, path),
          [this](const loans::LoanRequest& request, const loans::Ledger& ledger) {
            const node::NodeState state = effects_.now();
            return loans::ChooseGpus(request, ledger, StockOf(state));
          },
          [this] {
            RetryLater();
            KeepFiles();
            effects_.AssignAgain();
          }) {
  KeepFiles();
  RetryLater();
}

// Of a ledger that is not readable, they stay as they are: containers may have them.
void LoanHandler::KeepFiles() {
  if (lender_.is_known()) {
    files_.Set(lender_.ledger());
  }
}

void LoanHandler::RetryLater() {
  if (lender_.problem().empty()) {
    retry_timer_.Cancel();
  } else if (!retry_timer_.is_armed()) {
    retry_timer_.Arm(kRetryEvery, [this] {
      lender_.Retry();
      RetryLater();
    });
  }
}

bool LoanHandler::Answer(const http::Request& request, const Send& send) {
  if (request.path == kPath) {
    if (request.method == "POST") {
      Lend(request, send);
    } else if (request.method == "GET" || request.method == "HEAD") {
      send(List(request));
    } else {
      send(http::WrongMethod(request, "GET, HEAD, POST"));
    }
    return true;
  }
  if (!request.path.starts_with(kBelow)) {
    return false;
  }
  if (request.path == kCheckPath && request.method == "POST") {
    send(Check(request));
    return true;
  }
  if (request.method == "DELETE") {
    End(request, send);
  } else {
    send(http::WrongMethod(request, "DELETE"));
  }
  return true;
}

void LoanHandler::Lend(const http::Request& request, const Send& send) {
  auto parsed = loans::ParseLoanRequest(request.body);
  if (!parsed.ok()) {
    send(LoanRefused(parsed.status()));
    return;
  }
  lender_.Lend(*std::move(parsed), [this, send](const StatusOr<loans::Lender::Lent>& lent) {
    if (!lent.ok()) {
      send(LoanRefused(lent.status()));
      if (lent.status().code() == StatusCode::kUnavailable) {
        effects_.LookAtPods();
      }
      return;
    }
    if (lent->is_new) {
      KGPU_LOG(kInfo, "GPUs lent", {"holder", lent->loan.holder}, {"loan", lent->loan.id},
               {"gpus", lent->loan.gpus.size()}, {"slices", lent->loan.slices.size()});
    }
    Give(*lent, send);
  });
}

http::Response LoanHandler::Check(const http::Request& request) const {
  const auto parsed = loans::ParseLoanRequest(request.body);
  if (!parsed.ok()) {
    return LoanRefused(parsed.status());
  }
  const auto choice = lender_.Check(*parsed);
  if (!choice.ok()) {
    if (choice.status().code() == StatusCode::kUnavailable) {
      effects_.LookAtPods();
    }
    return LoanRefused(choice.status());
  }
  if (!choice->slices.empty() && !files_.problem().empty()) {
    return LoanRefused(FailedPrecondition("memory slices: {}", files_.problem()));
  }
  http::Response response;
  response.code = 204;
  return response;
}

// Slices come with files: who has the answer may start a container.
void LoanHandler::Give(const loans::Lender::Lent& lent, const Send& send) {
  const auto answer = [this, lent, send] {
    unknown_.erase(lent.loan.id);  // its holder has asked again, and knows of it now
    send(LoanJsonResponse(lent.is_new ? 201 : 200, LoanJson(lent.loan, &files_.paths())));
  };
  if (lent.loan.slices.empty()) {
    answer();
    return;
  }
  KeepFiles();
  files_.WhenWritten([this, lent, send, answer](const StatusOr<sharing::SlicePaths>& paths) {
    if (lender_.ledger().FindById(lent.loan.id) == nullptr) {
      send(LoanRefused(Unavailable("the loan has ended meanwhile")));
    } else if (paths.ok()) {
      answer();
    } else {
      // A holder asks again for an earlier loan; for a new one, an admin must change this host
      // first.
      const std::string reason = fmt::format("memory slices: {}", Message(paths.status()));
      const auto refuse = [send, status = lent.is_new ? FailedPrecondition("{}", reason)
                                                      : Internal("{}", reason)] {
        send(LoanRefused(status));
      };
      lent.is_new ? EndUnknown(lent.loan.id, refuse) : refuse();
    }
  });
}

// Its holder got an error instead of the loan, and so will not end it. On a full disk that may take
// more than one try.
void LoanHandler::EndUnknown(const std::string& id, const std::function<void()>& tried) {
  lender_.End(id, [this, id, tried](const Status& status) {
    tried();
    if (status.ok() || status.code() == StatusCode::kNotFound) {
      return;
    }
    unknown_.insert(id);
    if (!end_timer_.is_armed()) {
      end_timer_.Arm(kEndAgain, [this] {
        for (const std::string& loan : std::exchange(unknown_, {})) {
          EndUnknown(loan, [] {});
        }
      });
    }
  });
}

void LoanHandler::End(const http::Request& request, const Send& send) {
  lender_.End(request.path.substr(kBelow.size()),
              [send, path = request.path](const Status& status) {
                if (!status.ok()) {
                  send(LoanRefused(status));
                  return;
                }
                KGPU_LOG(kInfo, "loan ended", {"loan", path.substr(kBelow.size())});
                http::Response response;
                response.code = 204;
                send(std::move(response));
              });
}

http::Response LoanHandler::List(const http::Request& request) const {
  if (!lender_.is_known()) {
    return LoanRefused(Internal("{}", lender_.problem()));
  }
  const node::NodeState state = effects_.now();
  const std::string holder = request.QueryValue("holder").value_or("");
  std::vector<loans::Loan> shown;
  for (const loans::Loan& loan : lender_.ledger().loans()) {
    if (loan.holder.starts_with(holder)) {
      shown.push_back(loan);
    }
  }
  return LoanJsonResponse(
      200, json::object{{"loans", LoansJson(shown, state.snapshot.get(), &files_.paths())}});
}

void LoanHandler::Withhold(pools::Assignment& assignment) const {
  loans::Withhold(
      [this](const device::GpuUuid& gpu) -> std::string {
        if (!lender_.is_known()) {
          return offered_.contains(gpu)
                     ? ""
                     : fmt::format("it is not known whether it is lent: {}", lender_.problem());
        }
        const loans::Loan* loan = lender_.LoanOf(gpu);
        return loan == nullptr ? ""
                               : fmt::format("lent to {}: no pod can get it before the loan ends",
                                             loan->holder);
      },
      assignment);
  loans::KeepAsLent(lender_.ledger(), assignment);
  loans::KeepAsLent(lender_.pending(), assignment);
}

void LoanHandler::Assign(const node::NodeState& /*state*/, node::Draft& draft) {
  Withhold(draft.fresh);
}

// The kubelet had until now to give them to a pod.
void LoanHandler::OnShown(const node::NodeState& state) {
  if (rules_.SetLocal(*state.assignment, loop_.clock().Now())) {
    effects_.LookAtPods();
  }
}

void LoanHandler::Recall(const node::SavedState& state) {
  offered_ = GpusOf(state.assignment);
  rules_.SetLocal(state.assignment, SteadyTime());
}

void LoanHandler::OnSample(const node::NodeState& state, const device::SampleSetPtr& samples) {
  watch_.OnSample(lender_.ledger(), *samples, loop_.clock().Now(), state.round());
}

void LoanHandler::ShowStatus(const node::NodeState& state, node::StatusPage& page) const {
  const std::vector<pools::Resource>& local = state.assignment->local;
  const std::vector<loans::Loan>& loans = ledger().loans();
  page.AddLine("loans", lender_.problem());
  page.fields["loanProblem"] = lender_.problem();
  // Why containers cannot get lent slices, and which GPUs are used beyond what is lent.
  std::vector<std::string> slice_problems{files_.problem(), watch_.problem()};
  std::erase(slice_problems, "");
  for (const std::string& problem : slice_problems) {
    page.AddLine("slices", problem);
    page.exceptions.insert("memory slices");
  }
  page.fields["sliceProblems"] = doc::Texts(slice_problems);
  page.tables += LocalTable(local, loans, state.snapshot.get());
  page.fields["local"] = LocalPoolsJson(local, loans);
  page.fields["loans"] = LoansJson(loans, state.snapshot.get());
  page.holders = HoldersOf(loans);
}

void LoanHandler::WriteSeries(const node::NodeState& state, metrics::Exposition& page) const {
  WriteLoanSeries(state.assignment->local, ledger().loans(), page);
  telemetry::Write(telemetry::Own("kgpu_loan_ledger_ok"), lender_.problem().empty() ? 1 : 0, page);
}

Stock LoanHandler::StockOf(const node::NodeState& state) const {
  return {.config = state.config.get(),
          .snapshot = state.snapshot.get(),
          .assignment = *state.assignment,
          .obstacle = [this, &state](const device::GpuUuid& gpu) {
            return rules_.ObstacleTo(gpu, {.pods = *state.pods,
                                           .list = state.pod_list,
                                           .injection = state.injection.get(),
                                           .plugin_owner = state.plugin_owner});
          }};
}

}  // namespace kgpu::loans
