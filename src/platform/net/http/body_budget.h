// How many bytes the incomplete requests of a server may have, those of all connections together: a
// limit for each alone is none against callers with many connections.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace kgpu::http {

// Used on one thread.
class BodyBudget {
 public:
  explicit BodyBudget(size_t limit) : limit_(limit) {}

  size_t used() const { return used_; }

  // What one connection has of it; gives it back in the end.
  class Share {
   public:
    // `budget`: null without a limit.
    explicit Share(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
    ~Share() { (void)Set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // The connection has so many bytes now. False if they are too many, and nothing changes; fewer
    // than before are never too many.
    bool Set(size_t bytes) {
      if (budget_ == nullptr) {
        return true;
      }
      const size_t others = budget_->used_ - bytes_;
      if (bytes > bytes_ && others + bytes > budget_->limit_) {
        return false;
      }
      budget_->used_ = others + bytes;
      bytes_ = bytes;
      return true;
    }

   private:
    const std::shared_ptr<BodyBudget> budget_;
    size_t bytes_ = 0;
  };

 private:
  const size_t limit_;
  size_t used_ = 0;
};

}  // namespace kgpu::http
