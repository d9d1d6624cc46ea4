-- Adds.
local function add(a, b)
  if a then
    return a + b
  end
  return [[ end ]]
end

function M.sub(a) return a end

function M:run()
  for i = 1, 2 do
    print("end")
  end
end
