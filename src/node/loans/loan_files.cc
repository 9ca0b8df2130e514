#include "src/node/loans/loan_files.h"

#include <cstddef>
#include <utility>

namespace kgpu::loans {
namespace {

constexpr size_t kMostWaiting = 64;

}  // namespace

LoanFiles::LoanFiles(EventLoop& loop, pods::Background background,
                     slices::SliceFilesOptions options)
    : paths_{.folder = options.engine_folder},
      publisher_(loop, std::move(background), std::move(options), [this] {
        if (const slices::SlicePublisher::Paths& paths = publisher_.paths()) {
          Tell(*paths);
        }
      }) {
}

void LoanFiles::Set(const loans::Ledger& ledger) {
  loans::LentSlices slices = ledger.slices();
  const bool is_empty = slices.empty();
  std::set<std::string> lent;
  std::set<std::string> new_tenants;
  for (const slices::SliceSlot& slice : slices) {
    lent.insert(slice.id);
    if (lent_ && !lent_->contains(slice.id)) {
      new_tenants.insert(slice.id);
    }
  }
  lent_ = std::move(lent);
  publisher_.Set(std::move(slices), new_tenants);
  if (is_empty) {
    Tell(Unavailable("the loan has ended meanwhile"));
  }
}

void LoanFiles::WhenWritten(Done done) {
  if (const slices::SlicePublisher::Paths& paths = publisher_.paths()) {
    done(*paths);
  } else if (waiting_.size() >= kMostWaiting) {
    done(ResourceExhausted("{} loans wait for the disk: try again", kMostWaiting));
  } else {
    waiting_.push_back(std::move(done));
  }
}

// NOLINTNEXTLINE(performance-unnecessary-value-param)
void LoanFiles::Tell(StatusOr<sharing::SlicePaths> paths) {
  for (const Done& done : std::exchange(waiting_, {})) {
    done(paths);
  }
}

}  // namespace kgpu::loans
