-- The check of Latchkey for HAProxy 2.6 and newer, which has none of its own. latchkey.haproxy.cfg says how it is used. Its argument
-- is the address of Latchkey. `txn.latchkey` is `allowed` when a visitor may enter, and nothing else lets one in: HAProxy goes on
-- with a request whose Lua has failed.

local identity = {
    'x-auth-user-id', 'x-auth-username', 'x-auth-name', 'x-auth-email', 'x-auth-session-id', 'x-auth-factors', 'x-auth-time',
    'x-auth-groups', 'x-auth-token-id', 'x-auth-client', 'x-auth-scope', 'cookie', 'authorization',
}

-- Of one connection only, or said by the check itself. A body is not sent.
local not_sent = {}
for _, name in ipairs({
    'host', 'connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'expect', 'content-length', 'transfer-encoding',
    'x-forwarded-method', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-uri', 'x-forwarded-for',
}) do not_sent[name] = true end

local not_answered = { ['connection'] = true, ['keep-alive'] = true, ['transfer-encoding'] = true, ['content-length'] = true }

local function is_true(value) return value == true or value == 1 or value == '1' end

local function headers_of_check(txn)
    local headers = {}
    for name, values in pairs(txn.http:req_get_headers()) do
        if not not_sent[name] then
            local list = {}
            for _, value in pairs(values) do table.insert(list, value) end
            headers[name] = list
        end
    end
    headers['x-forwarded-method'] = { txn.sf:method() }
    headers['x-forwarded-proto'] = { is_true(txn.f:ssl_fc()) and 'https' or 'http' }
    headers['x-forwarded-host'] = { txn.sf:req_fhdr('host') }
    headers['x-forwarded-uri'] = { txn.sf:pathq() }
    headers['x-forwarded-for'] = { txn.sf:src() }
    return headers
end

local function answer(txn, status, headers, body)
    local reply = txn:reply({ status = status, body = body })
    for name, values in pairs(headers) do
        if not not_answered[name] then
            for _, value in pairs(values) do reply:add_header(name, value) end
        end
    end
    txn:done(reply)
end

local function unavailable(txn)
    local body = '{"error":"Temporarily unavailable","message":"Try again in a moment","code":"unavailable"}'
    local headers = { ['content-type'] = { 'application/json; charset=utf-8' }, ['cache-control'] = { 'no-store' }, ['retry-after'] = { '5' } }
    answer(txn, 503, headers, body)
end

-- Where programs find out how to get a token for a resource of this host (latchkey resource add). Whatever is answered goes to the
-- visitor, and lets nobody in.
local metadata = '/.well-known/oauth-protected-resource'
local preflight = {
    ['access-control-allow-origin'] = { '*' }, ['access-control-allow-methods'] = { 'GET' },
    ['access-control-allow-headers'] = { '*' }, ['access-control-max-age'] = { '600' },
}

local function check(txn, address)
    txn:set_var('txn.latchkey', 'refused')
    local path = txn.sf:path()
    if path:sub(1, #metadata) == metadata then
        -- Lua can send no OPTIONS to Latchkey, whose answer to a page of another site is this one.
        if txn.sf:method() == 'OPTIONS' then return answer(txn, 204, preflight, '') end
        local described = core.httpclient():get({ url = address .. path, headers = headers_of_check(txn), timeout = 10000 })
        if not described or not described.status or described.status == 0 then return unavailable(txn) end
        return answer(txn, described.status, described.headers or {}, described.body or '')
    end
    local result = core.httpclient():get({ url = address .. '/api/auth/forward', headers = headers_of_check(txn), timeout = 10000 })
    -- Without an answer, HAProxy makes one of its own.
    if not result or not result.status or result.status == 0 or result.status >= 500 then return unavailable(txn) end
    if result.status ~= 200 then return answer(txn, result.status, result.headers or {}, result.body or '') end
    for _, name in ipairs(identity) do
        local values = result.headers[name]
        -- Every answer has all of them. One without is not from Latchkey.
        if not values then return unavailable(txn) end
        txn.http:req_del_header(name)
        for _, value in pairs(values) do
            if value ~= '' then txn.http:req_set_header(name, value) end
        end
    end
    txn:set_var('txn.latchkey', 'allowed')
end

core.register_action('latchkey', { 'http-req' }, check, 1)
