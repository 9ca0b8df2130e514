#include "src/platform/compress/unpack.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::compress {
namespace {

constexpr std::string_view kGzipHead = "\x1f\x8b";
constexpr size_t kHeadBytes = 4;
constexpr size_t kPieceBytes = size_t{64} << 10;

bool IsGzip(std::string_view head) {
  return head.starts_with(kGzipHead);
}

// A frame, or one that readers leave out, which some packers begin with.
bool IsZstd(std::string_view head) {
  constexpr std::string_view kSkipped = "\x2a\x4d\x18";
  const bool is_skipped = head.size() >= kHeadBytes && head.substr(1, 3) == kSkipped &&
                          (static_cast<unsigned char>(head[0]) & 0xf0U) == 0x50U;
  return is_skipped || head.starts_with("\x28\xb5\x2f\xfd");
}

// The first bytes, which were looked at, before the rest.
class WithHead final : public ByteSource {
 public:
  WithHead(std::string head, std::unique_ptr<ByteSource> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  StatusOr<size_t> Read(std::span<char> out) override {
    if (at_ == head_.size()) {
      return rest_->Read(out);
    }
    const size_t got = head_.copy(out.data(), out.size(), at_);
    at_ += got;
    return got;
  }
  Status Skip(uint64_t count) override {
    const uint64_t ours = std::min<uint64_t>(count, head_.size() - at_);
    at_ += ours;
    return rest_->Skip(count - ours);
  }

 private:
  std::string head_;
  size_t at_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

// One stream after the other.
class Unpacker : public ByteSource {
 public:
  Unpacker(std::unique_ptr<ByteSource> packed, uint64_t& budget)
      : packed_(std::move(packed)), budget_(budget) {}
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // Errors: ResourceExhausted.
  virtual Status Open() = 0;

  StatusOr<size_t> Read(std::span<char> out) override {
    while (!is_done_) {
      if (has_begun_ && !is_within_) {
        ASSIGN_OR_RETURN(is_within_, IsAnotherNext());
        is_done_ = !is_within_;
        continue;
      }
      // Where the last reader was filled there may be more without another byte read.
      if (in_.empty() && !has_more_) {
        ASSIGN_OR_RETURN(const size_t got, packed_->Read(piece_));
        in_ = std::span(piece_).first(got);
        if (got == 0) {
          return is_within_
                     ? StatusOr<size_t>(InvalidArgument("the compressed data ends too early"))
                     : StatusOr<size_t>(0U);
        }
      }
      ASSIGN_OR_RETURN(const size_t got, Next(out));
      if (got > 0) {
        return got;
      }
    }
    return 0U;
  }
  Status Skip(uint64_t count) override { return SkipByReading(*this, count); }

 protected:
  struct Step {
    size_t taken = 0;
    size_t made = 0;
    bool has_ended = false;  // the stream; another may follow
    const char* error = nullptr;
  };
  virtual Step Run(std::span<char> in, std::span<char> out) = 0;
  // Whether a stream begins with these bytes: kHeadBytes or more, fewer at the end.
  virtual bool IsHead(std::string_view bytes) const = 0;

 private:
  // After a stream: whether another follows, or the end or filling, as tools leave it.
  StatusOr<bool> IsAnotherNext() {
    while (in_.size() < kHeadBytes) {
      std::memmove(piece_.data(), in_.data(), in_.size());
      ASSIGN_OR_RETURN(const size_t got, packed_->Read(std::span(piece_).subspan(in_.size())));
      in_ = std::span(piece_).first(in_.size() + got);
      if (got == 0) {
        break;
      }
    }
    return IsHead({in_.data(), in_.size()});
  }

  StatusOr<size_t> Next(std::span<char> out) {
    const Step step = Run(in_, out);
    if (step.error != nullptr) {
      return InvalidArgument("the compressed data is corrupt: {}", step.error);
    }
    if (step.made > budget_) {
      return OutOfRange("the uncompressed data exceeds the limit");
    }
    budget_ -= step.made;
    in_ = in_.subspan(step.taken);
    has_begun_ = true;
    is_within_ = !step.has_ended;
    has_more_ = is_within_ && step.made == out.size();
    return step.made;
  }

  std::unique_ptr<ByteSource> packed_;
  uint64_t& budget_;
  std::array<char, kPieceBytes> piece_{};
  std::span<char> in_;      // of piece_: what was not unpacked yet
  bool is_within_ = false;  // a stream that has not ended
  bool has_begun_ = false;
  bool has_more_ = false;
  bool is_done_ = false;
};

class GzipUnpacker final : public Unpacker {
 public:
  using Unpacker::Unpacker;
  ~GzipUnpacker() override { (void)inflateEnd(&stream_); }

  Status Open() override {
    constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib.h, inflateInit2
    return inflateInit2(&stream_, kGzipOnly) == Z_OK ? OkStatus()
                                                     : ResourceExhausted("out of memory for gzip");
  }

 private:
  bool IsHead(std::string_view bytes) const override { return IsGzip(bytes); }
  Step Run(std::span<char> in, std::span<char> out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    Step step{.taken = in.size() - stream_.avail_in,
              .made = out.size() - stream_.avail_out,
              .has_ended = result == Z_STREAM_END};
    if (step.has_ended) {
      (void)inflateReset(&stream_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      step.error = stream_.msg != nullptr ? stream_.msg : zError(result);
    }
    return step;
  }

  z_stream stream_{};
};

class ZstdUnpacker final : public Unpacker {
 public:
  using Unpacker::Unpacker;
  ~ZstdUnpacker() override { (void)ZSTD_freeDStream(stream_); }

  Status Open() override {
    // 128 MiB at most, as in the zstd program: files that need more say so in their header.
    constexpr int kWindowLog = 27;
    const bool is_set = stream_ != nullptr && ZSTD_isError(ZSTD_DCtx_setParameter(
                                                  stream_, ZSTD_d_windowLogMax, kWindowLog)) == 0;
    return is_set ? OkStatus() : ResourceExhausted("out of memory for zstd");
  }

 private:
  bool IsHead(std::string_view bytes) const override { return IsZstd(bytes); }
  Step Run(std::span<char> in, std::span<char> out) override {
    ZSTD_inBuffer taken{in.data(), in.size(), 0};
    ZSTD_outBuffer made{out.data(), out.size(), 0};
    const size_t result = ZSTD_decompressStream(stream_, &made, &taken);
    return {.taken = taken.pos,
            .made = made.pos,
            .has_ended = result == 0,
            .error = ZSTD_isError(result) != 0 ? ZSTD_getErrorName(result) : nullptr};
  }

  ZSTD_DStream* stream_ = ZSTD_createDStream();  // owned
};

template <typename Packed>
StatusOr<std::unique_ptr<ByteSource>> Opened(std::unique_ptr<ByteSource> packed, uint64_t& budget) {
  auto unpacker = std::make_unique<Packed>(std::move(packed), budget);
  RETURN_IF_ERROR(unpacker->Open());
  return unpacker;
}

}  // namespace

StatusOr<std::unique_ptr<ByteSource>> Unpack(std::unique_ptr<ByteSource> packed, uint64_t& budget) {
  std::string head;
  while (head.size() < kHeadBytes) {
    std::array<char, kHeadBytes> bytes{};
    ASSIGN_OR_RETURN(const size_t got,
                     packed->Read(std::span(bytes).first(kHeadBytes - head.size())));
    if (got == 0) {
      break;
    }
    head.append(bytes.data(), got);
  }
  const bool is_gzip = IsGzip(head);
  const bool is_zstd = IsZstd(head);
  auto whole = std::make_unique<WithHead>(std::move(head), std::move(packed));
  if (is_zstd) {
    return Opened<ZstdUnpacker>(std::move(whole), budget);
  }
  if (is_gzip) {
    return Opened<GzipUnpacker>(std::move(whole), budget);
  }
  return whole;
}

StatusOr<std::string> Gunzip(std::string_view bytes, size_t limit) {
  uint64_t budget = limit;
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source,
                   Opened<GzipUnpacker>(std::make_unique<TextSource>(bytes), budget));
  StatusOr<std::string> text =
      bytes.empty() ? InvalidArgument("it is empty") : ReadWhole(*source, limit);
  if (text.status().code() == StatusCode::kOutOfRange) {
    return OutOfRange("exceeds the limit of {} bytes when uncompressed", limit);
  }
  return text.ok() ? text
                   : InvalidArgument("is not a valid gzip file ({})", Message(text.status()));
}

}  // namespace kgpu::compress
