#include "src/node/faults/journal_writer.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::faults {
namespace {

using health::Journal;
using health::JournalEntry;
using health::JournalText;

Status NoteBoot(const Journal& journal, JournalEntry boot) {
  ASSIGN_OR_RETURN(const Journal::Boots boots, journal.FindBoot(boot.boot_id));
  boot.is_first = boots == Journal::Boots::kNone;
  return boots == Journal::Boots::kThis ? OkStatus() : journal.Append({&boot, 1});
}

// `boot`: that may not be in the journal yet.
Status WriteTo(const Journal& journal, const std::optional<JournalEntry>& boot,
               const std::vector<JournalEntry>& entries) {
  if (boot) {
    RETURN_IF_ERROR(NoteBoot(journal, *boot));
  }
  return journal.Append(entries);
}

// Entries on their way to the disk.
struct Batch {
  std::optional<JournalEntry> boot;
  std::vector<JournalEntry> entries;
  bool is_written = false;  // worker's thread only
};

}  // namespace

class JournalWriter::Impl : public std::enable_shared_from_this<JournalWriter::Impl> {
 public:
  Impl(EventLoop& loop, sys::DiskWorker& disk, JournalWriterOptions options)
      : loop_(loop),
        disk_(disk),
        options_(std::move(options)),
        journal_(std::make_shared<const Journal>(options_.folder, options_.limits)) {}

  void Start() {
    if (options_.boot_id.empty()) {
      return;
    }
    boot_ = JournalEntry{.when = loop_.clock().WallNow(), .event = {}, .boot_id = options_.boot_id};
    Write();
  }

  void Flush() {
    loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
    if (!waiting_.empty()) {
      // No caller is left that could be told.
      disk_.Post(
          [journal = journal_, boot = boot_, entries = Take()] {
            WriteTo(*journal, boot, entries).IgnoreError();
            return sys::DiskWorker::Done();
          },
          [](const Status&) {});
    }
  }

  void Add(JournalEntry entry) {
    waiting_.push_back(std::move(entry));
    Bound();
    if (!batch_ && timer_ == TimerId::kNone) {
      Write();
    }
  }

  void Read(health::JournalFilter filter, const JournalWriter::Use& use,
            const sys::DiskWorker::Failed& failed) {
    // Jobs queued behind one that hangs would only fill the queue.
    if (const std::string problem = disk_.problem(); !problem.empty()) {
      return failed(Unavailable("{}", problem));
    }
    const bool is_taken = disk_.Post(
        [journal = journal_, filter = std::move(filter), use, failed, batch = batch_,
         waiting = waiting_]() -> sys::DiskWorker::Done {
          StatusOr<JournalText> text = journal->Read();
          if (!text.ok()) {
            return [failed, status = text.status()] { failed(status); };
          }
          if (batch && !batch->is_written) {
            std::ranges::copy(batch->entries, std::back_inserter(text->entries));
          }
          std::ranges::copy(waiting, std::back_inserter(text->entries));
          text->entries = health::Select(std::move(text->entries), filter);
          return use(*std::move(text));
        },
        failed);
    if (!is_taken) {
      failed(ResourceExhausted("the disk is too slow: try again"));
    }
  }

  std::string problem() const { return problem_.empty() ? disk_.problem() : problem_; }

 private:
  std::vector<JournalEntry> Take() {
    std::vector<JournalEntry> entries(std::make_move_iterator(waiting_.begin()),
                                      std::make_move_iterator(waiting_.end()));
    waiting_.clear();
    return entries;
  }

  void Bound() {
    while (waiting_.size() > options_.max_waiting) {
      const auto repeat = std::ranges::find_if(waiting_, health::IsRepeat);
      waiting_.erase(repeat == waiting_.end() ? waiting_.begin() : repeat);
    }
  }

  void Write() {
    batch_ = std::make_shared<Batch>(Batch{.boot = boot_, .entries = Take()});
    const auto notify = [weak = weak_from_this()](const Status& status) {
      if (const auto self = weak.lock()) {
        self->OnWritten(status);
      }
    };
    const bool is_taken = disk_.Post(
        [notify, journal = journal_, batch = batch_] {
          const Status status = WriteTo(*journal, batch->boot, batch->entries);
          batch->is_written = status.ok();
          return sys::DiskWorker::Done([notify, status] { notify(status); });
        },
        notify);
    if (!is_taken) {
      OnWritten(ResourceExhausted("the disk is too slow"));
    }
  }

  void OnWritten(const Status& status) {
    const std::shared_ptr<Batch> batch = std::exchange(batch_, nullptr);
    if (!status.ok()) {
      waiting_.insert(waiting_.begin(), batch->entries.begin(), batch->entries.end());
      Bound();
      if (problem_.empty()) {
        KGPU_LOG(kWarning, "health events not saved", {"reason", Message(status)},
                 {"fix", "free disk space, or set --state-dir to another folder on the host"});
      }
      problem_ = Message(status);
      timer_ = loop_.After(options_.retry, [this] {
        timer_ = TimerId::kNone;
        Write();
      });
      return;
    }
    problem_.clear();
    boot_.reset();
    if (!waiting_.empty()) {
      Write();
    }
  }

  EventLoop& loop_;
  sys::DiskWorker& disk_;
  const JournalWriterOptions options_;
  const std::shared_ptr<const Journal> journal_;
  std::deque<JournalEntry> waiting_;
  std::optional<JournalEntry> boot_;  // until it is known to be in the journal
  std::shared_ptr<Batch> batch_;      // null: nothing is being written
  std::string problem_;
  TimerId timer_ = TimerId::kNone;
};

JournalWriter::JournalWriter(EventLoop& loop, sys::DiskWorker& disk, JournalWriterOptions options)
    : impl_(std::make_shared<Impl>(loop, disk, std::move(options))) {
  impl_->Start();
}

JournalWriter::~JournalWriter() {
  impl_->Flush();
}

void JournalWriter::Add(JournalEntry entry) {
  impl_->Add(std::move(entry));
}

void JournalWriter::Flush() {
  impl_->Flush();
}

void JournalWriter::Read(health::JournalFilter filter, const Use& use,
                         const sys::DiskWorker::Failed& failed) {
  impl_->Read(std::move(filter), use, failed);
}

std::string JournalWriter::problem() const {
  return impl_->problem();
}

}  // namespace kgpu::faults
