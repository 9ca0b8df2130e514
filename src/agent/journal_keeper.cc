#include "src/agent/journal_keeper.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "src/base/log.h"
#include "src/base/status_macros.h"

namespace kgpu::agent {
namespace {

using health::HappeningKind;
using health::Journal;
using health::JournalEntry;
using health::JournalText;

bool IsRepeat(const JournalEntry& entry) {
  return entry.news && entry.news->kind == HappeningKind::kSeen;
}

Status NoteBoot(const Journal& journal, const JournalEntry& boot) {
  ASSIGN_OR_RETURN(const bool is_noted, journal.HasBoot(boot.boot_id));
  return is_noted ? OkStatus() : journal.Append({&boot, 1});
}

}  // namespace

class JournalKeeper::Impl : public std::enable_shared_from_this<JournalKeeper::Impl> {
 public:
  Impl(EventLoop& loop, DiskWorker& disk, JournalKeeperOptions options)
      : loop_(loop),
        disk_(disk),
        options_(std::move(options)),
        journal_(std::make_shared<const Journal>(options_.folder, options_.limits)) {}

  void Start() {
    if (options_.boot_id.empty()) {
      return;
    }
    const JournalEntry boot{
        .when = loop_.clock().WallNow(), .news = {}, .boot_id = options_.boot_id};
    is_writing_ = disk_.Post([weak = weak_from_this(), journal = journal_, boot] {
      const Status status = NoteBoot(*journal, boot);
      return DiskWorker::Done([weak, boot, status] {
        if (const auto self = weak.lock()) {
          self->OnWritten({boot}, status);
        }
      });
    });
  }

  void Stop() {
    loop_.CancelTimer(timer_);
    if (!waiting_.empty()) {
      disk_.Post([journal = journal_, entries = Take()] {
        // There is nobody left to tell.
        journal->Append(entries).IgnoreError();
        return DiskWorker::Done();
      });
    }
  }

  void Add(JournalEntry entry) {
    waiting_.push_back(std::move(entry));
    Bound();
    if (!is_writing_ && timer_ == TimerId::kNone) {
      Write();
    }
  }

  void Read(health::JournalFilter filter, const JournalKeeper::Use& use) {
    const bool is_taken =
        disk_.Post([journal = journal_, filter = std::move(filter), use, waiting = waiting_] {
          StatusOr<JournalText> text = journal->Read();
          if (text.ok()) {
            std::ranges::copy(waiting, std::back_inserter(text->entries));
            text->entries = health::Select(std::move(text->entries), filter);
          }
          return use(std::move(text));
        });
    if (!is_taken) {
      if (const DiskWorker::Done done = use(ResourceExhausted("the disk is behind: try again"))) {
        done();
      }
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
      const auto repeat = std::ranges::find_if(waiting_, IsRepeat);
      waiting_.erase(repeat == waiting_.end() ? waiting_.begin() : repeat);
    }
  }

  void Write() {
    auto entries = std::make_shared<const std::vector<JournalEntry>>(Take());
    is_writing_ = disk_.Post([weak = weak_from_this(), journal = journal_, entries] {
      const Status status = journal->Append(*entries);
      return DiskWorker::Done([weak, entries, status] {
        if (const auto self = weak.lock()) {
          self->OnWritten(*entries, status);
        }
      });
    });
    if (!is_writing_) {
      OnWritten(*entries, ResourceExhausted("the disk is behind"));
    }
  }

  void OnWritten(const std::vector<JournalEntry>& entries, const Status& status) {
    is_writing_ = false;
    if (!status.ok()) {
      waiting_.insert(waiting_.begin(), entries.begin(), entries.end());
      Bound();
      if (problem_.empty()) {
        KGPU_LOG(kWarning, "news of the GPUs' health is not kept", {"reason", Message(status)},
                 {"mend", "make room, or name a folder of the host by --state-dir"});
      }
      problem_ = Message(status);
      timer_ = loop_.After(options_.retry, [this] {
        timer_ = TimerId::kNone;
        Write();
      });
      return;
    }
    problem_.clear();
    if (!waiting_.empty()) {
      Write();
    }
  }

  EventLoop& loop_;
  DiskWorker& disk_;
  const JournalKeeperOptions options_;
  const std::shared_ptr<const Journal> journal_;
  std::deque<JournalEntry> waiting_;
  bool is_writing_ = false;
  std::string problem_;
  TimerId timer_ = TimerId::kNone;
};

JournalKeeper::JournalKeeper(EventLoop& loop, DiskWorker& disk, JournalKeeperOptions options)
    : impl_(std::make_shared<Impl>(loop, disk, std::move(options))) {
  impl_->Start();
}

JournalKeeper::~JournalKeeper() {
  impl_->Stop();
}

void JournalKeeper::Add(JournalEntry entry) {
  impl_->Add(std::move(entry));
}

void JournalKeeper::Read(health::JournalFilter filter, const Use& use) {
  impl_->Read(std::move(filter), use);
}

std::string JournalKeeper::problem() const {
  return impl_->problem();
}

}  // namespace kgpu::agent
