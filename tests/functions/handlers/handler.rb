# frozen_string_literal: true

module FxWatcher
  def self.Handler(input)
    word, argument = input.byteslice(0, 100).split(/[ \n]/n)
    case word
    when 'throw' then raise ArgumentError, 'no such thing'
    when 'exit' then exit!(3)
    when 'crash' then Process.kill('KILL', Process.pid)
    when 'hang' then sleep
    when 'flood' then return Enumerator.new { |out| loop { out << ('x' * 65_536) } }
    when 'head'
      call.status = 418
      call.response_headers['X-Pot'] = 'tea'
      return "#{call.method} #{call.path} #{call.query} #{call.headers['traceparent']} #{call.id}"
    when 'cookies'
      call.response_headers['Set-Cookie'] = ['a=1; Path=/', 'b=2; Path=/']
      call.response_headers['X-Number'] = 7
      return 'set'
    when 'bad-status' then call.status = 999
    when 'bad-name' then call.response_headers['Bad Header'] = 'x'
    when 'bad-value' then call.response_headers['X-A'] = "x\r\nSet-Cookie: stolen=1"
    when 'big-head' then call.response_headers['X-A'] = 'x' * (2 << 20)
    when 'bad-type' then call.response_headers['X-A'] = nil
    when 'mesh' then return mesh_call('other', input.byteslice(5..))
    when 'stream' then return (0...argument.to_i).lazy.map { |number| "piece #{number}\n" }
    when 'print'
      puts 'a line of the log'
      warn 'an error of the log'
    end
    input
  end
end
