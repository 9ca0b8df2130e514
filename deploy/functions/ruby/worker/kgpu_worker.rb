# frozen_string_literal: true

# The worker of Ruby functions: loads the handler once, then answers the calls of kgpu-fnwatch.
# The protocol is on descriptors 3 (to us) and 4 (from us): docs/how-it-works/function-watchdog.md.
# What the handler prints is its log. Standard library only.
require 'json'
require 'socket'
require 'timeout'

module FxWatcher
  # One call: FxWatcher.call tells the one of this thread.
  Call = Struct.new(:id, :method, :path, :query, :headers, :deadline_ms, :given_up, :status, :response_headers)

  def self.call
    Thread.current[:kgpu_call]
  end

  # Calls another function and returns its output.
  def self.mesh_call(name, input)
    where = ENV['KGPU_FN_MESH'].to_s
    raise 'KGPU_FN_MESH: not set: this function runs where no other can be called' if where.empty?
    raise ArgumentError, "mesh_call: #{name.inspect} is no function's name" unless name.match?(/\A[\w.-]+\z/)

    socket = where.include?('/') ? UNIXSocket.new(where) : TCPSocket.new(*where.split(/:(?=\d+\z)/))
    # In HTTP/1.0 the answer ends with the connection.
    answer = Timeout.timeout(60) do
      socket.write("POST /function/#{name} HTTP/1.0\r\nHost: mesh\r\nContent-Length: #{input.bytesize}\r\n\r\n".b + input.b)
      socket.read
    end
    head, output = answer.split("\r\n\r\n", 2)
    status = head.to_s.split[1].to_i
    raise "#{name}: status #{status}: #{output.to_s.byteslice(0, 300)}" unless status.between?(200, 399)

    length = head[/\r\nContent-Length: (\d+)/i, 1]
    raise "#{name}: the answer was cut off" if length && length.to_i != output.bytesize

    output
  ensure
    socket&.close
  end
end

module KgpuWorker
  HEAD = 12
  MAX_PAYLOAD = 1 << 20
  MAX_FAILURE = 16_384

  # Writes frames; threads take turns. A watchdog that is gone ends us.
  class Output
    def initialize(io)
      @io = io
      @io.binmode
      @io.sync = true
      @lock = Mutex.new
    end

    def send_frame(type, call, payload = '')
      bytes = [payload.bytesize, type.ord, 0, 0, call].pack('L<CCS<L<') << payload.b
      @lock.synchronize { @io.write(bytes) }
    rescue Errno::EPIPE, IOError
      exit!(0)
    end
  end

  # One call while its input arrives, and then in its thread.
  Entry = Struct.new(:number, :call, :input)

  # Takes frames and runs the handler.
  class Worker
    def initialize(handler, output)
      @handler = handler
      @output = output
      @calls = {}
      @lock = Mutex.new
      @threads = []
    end

    # True: the watchdog wants no more; false: it is gone.
    def read(input)
      input.binmode
      loop do
        head = input.read(HEAD)
        return false if head.nil? || head.bytesize < HEAD

        size, type, _, _, number = head.unpack('L<CCS<L<')
        payload = size.zero? ? ''.b : input.read(size)
        return false if payload.nil? || payload.bytesize < size
        return true if type.chr == 'Q'

        take(type.chr, number, payload)
      end
    end

    def wait
      @lock.synchronize { @threads.dup }.each(&:join)
    end

    private

    def take(type, number, payload)
      if type == 'C'
        about = JSON.parse(payload.force_encoding(Encoding::UTF_8))
        call = FxWatcher::Call.new(about['id'], about['method'], about['path'], about['query'],
                                   about['headers'], about['deadlineMs'], false, 200, {})
        @lock.synchronize { @calls[number] = Entry.new(number, call, ''.b) }
        return
      end
      entry = @lock.synchronize { @calls[number] }
      return if entry.nil?

      case type
      when 'D' then entry.input << payload
      when 'X' then entry.call.given_up = true
      when 'E' then start(entry)
      end
    end

    def start(entry)
      thread = Thread.new { run(entry) }
      @lock.synchronize { @threads = @threads.select(&:alive?) << thread }
    end

    def run(entry)
      Thread.current[:kgpu_call] = entry.call
      answer(entry, @handler.call(entry.input))
      @output.send_frame('E', entry.number)
    rescue Exception => e # rubocop:disable Lint/RescueException -- also exit: it ends its call
      warn e.full_message(highlight: false)
      @output.send_frame('F', entry.number, "#{e.class}: #{e.message}".byteslice(0, MAX_FAILURE))
    ensure
      @lock.synchronize { @calls.delete(entry.number) }
    end

    def answer(entry, result)
      if result.respond_to?(:each) && !result.is_a?(String)
        result.each do |piece|
          break if entry.call.given_up

          send_piece(entry, piece)
        end
        send_head(entry)
      else
        send_piece(entry, result.to_s)
      end
    end

    def send_head(entry)
      call = entry.call
      return if call.response_headers.nil?

      unless call.status == 200 && call.response_headers.empty?
        @output.send_frame('H', entry.number, head_of(call).byteslice(0, MAX_PAYLOAD))
      end
      call.response_headers = nil # it has been sent
    end

    # The watchdog judges what it says: an answer that is no valid HTTP fails its own call only.
    def head_of(call)
      headers = call.response_headers
      headers = headers.to_h { |name, value| [name.to_s, field_of(value)] } if headers.is_a?(Hash)
      JSON.generate({ status: call.status, headers: headers })
    rescue JSON::GeneratorError => e
      JSON.generate({ status: e.class.name })
    end

    # The value of a header: a list becomes that many fields.
    def field_of(value)
      case value
      when Array then value.map { |item| field_of(item) }
      when String, Symbol, Numeric then value.to_s
      else { "a #{value.class}" => nil }
      end
    end

    def send_piece(entry, piece)
      send_head(entry)
      bytes = piece.b
      0.step(bytes.bytesize - 1, MAX_PAYLOAD) do |at|
        @output.send_frame('D', entry.number, bytes.byteslice(at, MAX_PAYLOAD))
      end
    end
  end

  # The handler is FxWatcher.Handler, or a method of that name at the top.
  def self.load_handler
    folder = ENV['HANDLER_DIR'].to_s.empty? ? '/function' : ENV['HANDLER_DIR']
    file = ENV['HANDLER_FILE'].to_s.empty? ? 'handler.rb' : ENV['HANDLER_FILE']
    name = ENV['HANDLER_NAME'].to_s.empty? ? 'Handler' : ENV['HANDLER_NAME']
    path = File.expand_path(file, folder)
    path += '.rb' unless path.end_with?('.rb')
    abort "#{path}: no such handler: check handler.dir and handler.file in config.yaml" unless File.exist?(path)
    require path
    return FxWatcher.method(name) if FxWatcher.respond_to?(name)

    begin
      Object.send(:method, name)
    rescue NameError
      abort "#{path}: no method FxWatcher.#{name}: check handler.name in config.yaml"
    end
  end

  def self.main
    $stdout.sync = true
    $stderr.sync = true
    handler = load_handler
    output = Output.new(IO.for_fd(4, 'wb'))
    ready = { concurrent: ENV['KGPU_FN_CONCURRENCY'].to_i > 1, runtime: "ruby #{RUBY_VERSION}" }
    output.send_frame('R', 0, JSON.generate(ready))
    worker = Worker.new(handler, output)
    worker.wait if worker.read(IO.for_fd(3, 'rb'))
    exit!(0)
  end
end

KgpuWorker.main
