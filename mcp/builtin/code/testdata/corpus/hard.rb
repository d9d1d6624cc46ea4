=begin
A comment (
def inside
end
=end
class Hard < Struct.new(:a, :b)
  # A comment.
  def text(a = "#{"}"}")
    <<~TEXT + 'x'
      def inside
      end
    TEXT
  end

  def pattern; /end["'{]/; end

  attr_reader :name

  def self.build(*args,
                 key: 1)
    new(*args)
  end
end

LIMIT = [
  1, # ]
].freeze
