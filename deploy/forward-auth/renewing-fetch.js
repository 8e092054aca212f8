// `fetch` for the pages of an application behind Latchkey. When the access token has expired, it renews the session and
// asks again. An answer of 401 then means that the session has ended. When it cannot be renewed right now (429, 503), you get that
// answer: the session goes on, and a later call works.
export const renewingFetch = async (address, options) => {
  const request = new Request(address, options)
  const ask = () => fetch(request.clone())
  const answer = await ask()
  if (answer.status !== 401) return answer
  // One renewal at a time in all tabs. Latchkey's own pages use the same lock.
  return navigator.locks.request('latchkey-refresh', async () => {
    // Another request may have renewed the session in the meantime. To renew it again could end it.
    const again = await ask()
    if (again.status !== 401) return again
    const renewal = await fetch('/api/auth/refresh', { method: 'POST' })
    if (renewal.ok) return ask()
    return renewal.status === 401 ? again : renewal
  })
}
