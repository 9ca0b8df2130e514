// The one file that knows Boost.Beast, which reads headers. Each is put to it as a whole, since its
// own limits depend on how the bytes came in pieces; of bodies it is not asked, since its reader of
// chunks relies on pieces of some size (an assertion of 1.81 fails for "0\r\n" alone).
#include "src/platform/net/http/parser.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/net/http/body_decoder.h"
#include "src/platform/net/http/field.h"
#include "src/platform/net/http/header_scan.h"

namespace kgpu::http {
namespace {

namespace beast = boost::beast::http;
using boost::system::error_code;

std::string_view ToStd(const boost::beast::string_view& text) {
  return {text.data(), text.size()};
}

Headers HeadersOf(const beast::fields& fields) {
  Headers headers;
  headers.Reserve(static_cast<size_t>(std::distance(fields.begin(), fields.end())));
  for (const auto& field : fields) {
    headers.Add(ToStd(field.name_string()), ToStd(field.value()));
  }
  return headers;
}

Refusal RefusalOf(const error_code& error) {
  return {.code = error == beast::error::bad_version ? 505 : 400,
          .reason = fmt::format("invalid HTTP message: {}", error.message())};
}

// The part that requests and responses share: a header, then a body.
template <bool kIsRequest>
class MessageParser {
 public:
  using Header = beast::parser<kIsRequest, beast::empty_body>;

  explicit MessageParser(const ParserLimits& limits) : limits_(limits), scan_(limits.header) {
    // Scanned and limited before it is put.
    header_.header_limit(static_cast<uint32_t>(limits.header + 1));
    header_.body_limit(boost::none);
  }

  const Header& header() const { return header_; }
  const Headers& headers() const { return headers_; }
  ParseState state() const { return state_; }
  const Refusal& refusal() const { return refusal_; }
  void Refuse(int code, std::string reason) {
    state_ = ParseState::kRefused;
    refusal_ = {.code = code, .reason = std::move(reason)};
  }

  // Takes the whole header, or nothing. Then, in kBody, BeginBody is due.
  size_t FeedHeader(std::string_view bytes) {
    switch (scan_.Scan(bytes)) {
      case HeaderScan::Result::kNeedMore:
        return 0;
      case HeaderScan::Result::kTooLong:
        Refuse(431, fmt::format("the header exceeds {} bytes", limits_.header));
        return 0;
      case HeaderScan::Result::kNoHttp:
        Refuse(400, "invalid HTTP message: illegal bytes or line ends");
        return 0;
      case HeaderScan::Result::kFound:
        break;
    }
    state_ = ParseState::kBody;
    PutHeader(bytes.substr(0, scan_.size()));
    headers_ = HeadersOf(header_.get());
    return scan_.size();
  }

  void BeginBody(BodyDecoder body) {
    body_.emplace(std::move(body));
    SettleBody();
  }

  // A body as the fields tell; nothing when they do not.
  std::optional<BodyDecoder> BodyByFields() const {
    if (header_.chunked()) {
      return BodyDecoder::OfChunks(limits_.body, limits_.header);
    }
    if (const auto length = header_.content_length()) {
      return BodyDecoder::OfLength(*length, limits_.body);
    }
    return std::nullopt;
  }

  size_t FeedBody(std::string_view bytes) {
    const size_t taken = body_->Feed(bytes);
    SettleBody();
    return taken;
  }

  // The peer closed.
  void FeedEnd() {
    if (state_ == ParseState::kHeader) {
      Refuse(400, "the connection was closed before the end of the header");
    } else if (state_ == ParseState::kBody) {
      body_->FeedEnd();
      if (body_->state() == BodyDecoder::State::kBad) {
        return Refuse(400, "the connection was closed before the end of the body");
      }
      SettleBody();
    }
  }

  std::string TakeBody() { return body_ ? std::exchange(body_->body(), {}) : std::string(); }
  size_t body_size() { return body_ ? body_->body().size() : 0; }

 private:
  void PutHeader(std::string_view bytes) {
    error_code error;
    size_t taken = 0;
    try {
      taken = header_.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    } catch (const std::exception& e) {
      return Refuse(400, fmt::format("invalid HTTP message: {}", e.what()));
    }
    if (error && error != beast::error::need_more) {
      const Refusal refusal = RefusalOf(error);
      Refuse(refusal.code, refusal.reason);
    } else if (taken != bytes.size() || !header_.is_header_done()) {
      Refuse(400, "invalid HTTP message: the header ends too early");
    }
  }

  void SettleBody() {
    switch (body_->state()) {
      case BodyDecoder::State::kMore:
        return;
      case BodyDecoder::State::kDone:
        state_ = ParseState::kDone;
        return;
      case BodyDecoder::State::kBad:
        return Refuse(400, "invalid HTTP message: a chunk without a size or an end");
      case BodyDecoder::State::kTooLarge:
        return Refuse(413, fmt::format("the body exceeds {} bytes", limits_.body));
      case BodyDecoder::State::kLineTooLong:
        return Refuse(431, "a chunk header or trailer is too long");
    }
  }

  const ParserLimits limits_;
  HeaderScan scan_;
  Header header_;
  Headers headers_;
  std::optional<BodyDecoder> body_;
  ParseState state_ = ParseState::kHeader;
  Refusal refusal_;
};

}  // namespace

class RequestParser::Impl {
 public:
  explicit Impl(const ParserLimits& limits) : message_(limits) {}

  size_t Feed(std::string_view bytes) {
    size_t taken = 0;
    if (message_.state() == ParseState::kHeader) {
      taken = FeedHeader(bytes);
    }
    if (message_.state() == ParseState::kBody) {
      taken += message_.FeedBody(bytes.substr(taken));
    }
    return taken;
  }

  ParseState state() const { return message_.state(); }
  const Refusal& refusal() const { return message_.refusal(); }
  bool keeps_alive() const { return message_.header().keep_alive(); }
  size_t body_size() { return message_.body_size(); }
  bool is_http11() const { return message_.header().get().version() >= 11; }
  bool expects_continue() const {
    const auto expect = message_.headers().Find("Expect");
    return is_http11() && expect && EqualsIgnoringCase(*expect, "100-continue");
  }

  Request Head() const {
    Request head = request_;
    head.headers = message_.headers();
    return head;
  }

  Request Take() {
    request_.headers = message_.headers();
    request_.body = message_.TakeBody();
    return std::move(request_);
  }

 private:
  size_t FeedHeader(std::string_view bytes) {
    // Source: RFC 9112, section 2.2: a client may send an empty line too many.
    size_t blank = 0;
    while (!has_begun_ && bytes.substr(blank).starts_with("\r\n")) {
      blank += 2;
    }
    bytes.remove_prefix(blank);
    if (bytes.empty() || (!has_begun_ && bytes == "\r")) {
      return blank;
    }
    has_begun_ = true;
    const size_t taken = message_.FeedHeader(bytes);
    if (message_.state() == ParseState::kBody) {
      CheckHeader();
    }
    if (message_.state() == ParseState::kBody) {
      message_.BeginBody(message_.BodyByFields().value_or(BodyDecoder::OfLength(0, 0)));
    }
    return blank + taken;
  }

  void CheckHeader() {
    const auto& message = message_.header().get();
    const Headers& headers = message_.headers();
    request_.method = ToStd(message.method_string());
    request_.target = ToStd(message.target());
    if (const Status status = SplitTarget(request_); !status.ok()) {
      return message_.Refuse(400, std::string(Message(status)));
    }
    // Source: RFC 9112, section 3.2. Which host was meant must be clear to everybody on the way.
    if (is_http11() && headers.Count("Host") != 1) {
      return message_.Refuse(400, "a request must have one Host field");
    }
    if (const auto host = headers.Find("Host"); host && !IsHost(*host)) {
      return message_.Refuse(400, "Host: must be a name or an address, with a port at most");
    }
    // Source: RFC 9112, section 6.1. A body whose end others see elsewhere smuggles requests in.
    const auto encoding = headers.Find("Transfer-Encoding");
    if (encoding && (!is_http11() || headers.Count("Content-Length") != 0)) {
      return message_.Refuse(400, "Transfer-Encoding is not allowed here");
    }
    if (encoding && (headers.Count("Transfer-Encoding") != 1 ||
                     !EqualsIgnoringCase(Trim(*encoding), "chunked"))) {
      return message_.Refuse(501, "Transfer-Encoding: only chunked is supported");
    }
  }

  MessageParser<true> message_;
  Request request_;
  bool has_begun_ = false;
};

RequestParser::RequestParser(const ParserLimits& limits) : impl_(std::make_unique<Impl>(limits)) {
}
RequestParser::~RequestParser() = default;
size_t RequestParser::Feed(std::string_view bytes) {
  return impl_->Feed(bytes);
}
ParseState RequestParser::state() const {
  return impl_->state();
}
const Refusal& RequestParser::refusal() const {
  return impl_->refusal();
}
bool RequestParser::keeps_alive() const {
  return impl_->keeps_alive();
}
bool RequestParser::expects_continue() const {
  return impl_->expects_continue();
}
bool RequestParser::is_http11() const {
  return impl_->is_http11();
}
size_t RequestParser::body_size() const {
  return impl_->body_size();
}
Request RequestParser::Head() const {
  return impl_->Head();
}
Request RequestParser::Take() {
  return impl_->Take();
}

class ResponseParser::Impl {
 public:
  Impl(const ParserLimits& limits, bool is_head) : limits_(limits), is_head_(is_head) {
    message_.emplace(limits_);
  }

  size_t Feed(std::string_view bytes) {
    size_t taken = 0;
    size_t step = 1;
    while (message_->state() == ParseState::kHeader && step > 0) {
      step = message_->FeedHeader(bytes.substr(taken));
      taken += step;
      if (message_->state() == ParseState::kBody) {
        BeginBody();
      }
    }
    if (message_->state() == ParseState::kBody) {
      taken += message_->FeedBody(bytes.substr(taken));
    }
    return taken;
  }

  void FeedEnd() { message_->FeedEnd(); }
  ParseState state() const { return message_->state(); }
  const Refusal& refusal() const { return message_->refusal(); }

  int code() const { return static_cast<int>(message_->header().get().result_int()); }
  const Headers& headers() const { return message_->headers(); }
  // A message that ends with the connection is the last one.
  bool keeps_alive() const { return message_->header().keep_alive() && !is_until_close_; }
  std::string TakeBody() { return message_->TakeBody(); }

  Response Take() {
    return {.code = code(), .headers = message_->headers(), .body = message_->TakeBody()};
  }

 private:
  static constexpr int kMaxInterim = 8;

  // Or the next header, behind one of an interim answer.
  void BeginBody() {
    if (code() < 200) {
      if (++interim_ > kMaxInterim) {
        return message_->Refuse(400, "too many interim answers");
      }
      message_.emplace(limits_);
    } else if (is_head_ || code() == 204 || code() == 304) {
      message_->BeginBody(BodyDecoder::OfLength(0, 0));
    } else {
      std::optional<BodyDecoder> body = message_->BodyByFields();
      is_until_close_ = !body.has_value();
      message_->BeginBody(body ? *std::move(body) : BodyDecoder::UntilClose(limits_.body));
    }
  }

  const ParserLimits limits_;
  const bool is_head_;
  bool is_until_close_ = false;
  int interim_ = 0;
  std::optional<MessageParser<false>> message_;
};

ResponseParser::ResponseParser(const ParserLimits& limits, bool is_head)
    : impl_(std::make_unique<Impl>(limits, is_head)) {
}
ResponseParser::~ResponseParser() = default;
size_t ResponseParser::Feed(std::string_view bytes) {
  return impl_->Feed(bytes);
}
void ResponseParser::FeedEnd() {
  impl_->FeedEnd();
}
ParseState ResponseParser::state() const {
  return impl_->state();
}
const Refusal& ResponseParser::refusal() const {
  return impl_->refusal();
}
int ResponseParser::code() const {
  return impl_->code();
}
const Headers& ResponseParser::headers() const {
  return impl_->headers();
}
bool ResponseParser::keeps_alive() const {
  return impl_->keeps_alive();
}
std::string ResponseParser::TakeBody() {
  return impl_->TakeBody();
}
Response ResponseParser::Take() {
  return impl_->Take();
}

}  // namespace kgpu::http
