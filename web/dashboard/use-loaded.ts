import { useEffect, useState } from 'preact/hooks'
import type { Account, AccountEvent, Session } from '../../src/contract/schemas.js'
import { api } from '../api.js'
import { type Answer, isSignedOut, isTemporary, type Refusal, retryDelay } from '../requests.js'
import { useStableCallback } from '../stable-callback.js'

/** A part that could not be loaded is missing. */
export type Loaded = { account: Account; sessions: Session[] | undefined; events: AccountEvent[] | undefined }

type Leave = (notice: 'sign_in' | 'session_ended') => void

/** Loads everything of the user. A service that cannot answer is asked again, with longer and longer pauses. */
export const useLoaded = (leave: Leave) => {
  const [loaded, setLoaded] = useState<Loaded>()
  const [refused, setRefused] = useState<{ refusal: Refusal; attempt: number }>()

  const load = useStableCallback(async (attempt: number) => {
    const answer = await askForEverything()
    if (answer.ok) return setLoaded((known) => keepKnown(known, answer.value))
    if (isSignedOut(answer.refusal)) return leave(loaded ? 'session_ended' : 'sign_in')
    if (!loaded) setRefused({ refusal: answer.refusal, attempt })
  })
  useEffect(() => {
    void load(0)
  }, [])
  useEffect(() => {
    if (loaded || !refused || !isTemporary(refused.refusal)) return
    const { refusal, attempt } = refused
    const again = () => {
      stop()
      void load(attempt + 1)
    }
    const timer = setTimeout(again, retryDelay(attempt, refusal))
    const stop = () => {
      clearTimeout(timer)
      removeEventListener('online', again)
    }
    addEventListener('online', again)
    return stop
  }, [refused, loaded])
  return { loaded, refused: refused?.refusal, reload: () => load(0) }
}

/** A part that was there stays there when it cannot be loaded again. */
const keepKnown = (known: Loaded | undefined, newest: Loaded): Loaded => ({
  account: newest.account,
  sessions: newest.sessions ?? known?.sessions,
  events: newest.events ?? known?.events,
})

const askForEverything = async (): Promise<Answer<Loaded>> => {
  // The access check reads no store, so it is the cheapest way to learn that the tokens must be refreshed first.
  const me = await api.me()
  if (!me.ok) return me
  const [account, sessions, events] = await Promise.all([api.account(), api.sessions(), api.events()])
  if (!account.ok) return account
  for (const part of [sessions, events]) if (!part.ok && isSignedOut(part.refusal)) return part
  return {
    ok: true,
    value: {
      account: account.value.user,
      sessions: sessions.ok ? sessions.value.sessions : undefined,
      events: events.ok ? events.value.events : undefined,
    },
  }
}
