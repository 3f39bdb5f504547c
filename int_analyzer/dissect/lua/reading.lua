-- ------------------------------------------------------------------------------------------------------------------ reading

local function has(word, mask)
  return floor(word / mask) % 2 == 1
end

local function bits_set(word)
  local count = 0
  while word > 0 do
    count = count + word % 2
    word = floor(word / 2)
  end
  return count
end

local function both(word, mask)
  local result, bit = 0, 1
  while word > 0 and mask > 0 do
    if word % 2 == 1 and mask % 2 == 1 then result = result + bit end
    word, mask, bit = floor(word / 2), floor(mask / 2), bit * 2
  end
  return result
end

local function u8(tvb, at) return tvb(at, 1):uint() end
local function u16(tvb, at) return tvb(at, 2):uint() end
local function u32(tvb, at) return tvb(at, 4):uint() end

local function add_bytes(tree, field, tvb, at, finish)
  if finish > at then tree:add(F[field], tvb(at, finish - at)) end
end

-- Adds the fields of a header that is there as a whole; gives their values by filter name.
local function add_header(tree, header, tvb, at, values)
  values = values or {}
  local whole = tvb(at, header.bytes)
  if header.absent and whole:raw() == rep("\255", header.bytes) then
    tree:add(F[header[1][1]:find("^intreport") and "intreport.absent" or "int.hop.absent"], whole, header.title)
    return values
  end
  for _, field in ipairs(header) do
    local name, first, count = field[1], field[2], field[3]
    local range = tvb(at + floor(first / 8), floor((first % 8 + count + 7) / 8))
    local value = range:bitfield(first % 8, count)
    local kind, item = FIELDS[name][1], nil
    values[name] = value
    if kind == "bool" then
      item = tree:add(F[name], range, value == 1)
    elseif kind == "uint64" and type(value) == "number" then
      item = tree:add(F[name], range, UInt64.new(value, 0))
    else
      item = tree:add(F[name], range, value)
    end
    if field.names and field.names[value] then
      item:append_text(" " .. field.names[value])
    elseif field.masks then
      local names = {}
      for mask, text in pairs(field.masks) do
        if has(value, mask) then names[#names + 1] = { mask, text } end
      end
      table.sort(names, function(a, b) return a[1] > b[1] end)
      for position, entry in ipairs(names) do
        item:append_text((position == 1 and " " or ", ") .. entry[2])
      end
    elseif field.unit then
      item:append_text(" " .. (UNITS[field.unit] or field.unit))
    end
  end
  return values
end

-- Calls another dissector. One that finds its packet cut says so in the tree; that is no error of this plugin.
local function hand_on(dissector, tvb, at, finish, pinfo, tree)
  if finish > at then pcall(dissector.call, dissector, tvb(at, finish - at):tvb(), pinfo, tree) end
end

local function last(extractor)
  local found = { extractor() }
  return found[#found]
end

-- Bytes of this UDP payload by the UDP length; more than there are when the packet was cut.
local function declared_length(tvb)
  local length = last(udp_length)
  return length and math.max(length.value - 8, 0) or tvb:reported_len()
end

local function marked_by_dscp()
  if int.prefs.dscp_mask == 0 then return false end
  local found, other = last(dscp_4), last(dscp_6)
  if other and (not found or other.offset > found.offset) then found = other end
  return found ~= nil and both(found.value, int.prefs.dscp_mask) == int.prefs.dscp_value
end

local function complain(tree, proto_name, item, name)
  tree:add(F[proto_name .. ".status"], name):set_generated()
  item:add_proto_expert_info(E[name])
end
