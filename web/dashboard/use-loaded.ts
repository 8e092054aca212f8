import { useEffect, useState } from 'preact/hooks'
import { type Answer, isTemporary, type Refusal } from '#client/client.js'
import type { LinkedAccount } from '#contract/account-export.js'
import type { ProfileFieldDefinition } from '#contract/profile-fields.js'
import type { Account, AccountEvent, Factors, Session, UsedApplication } from '#contract/schemas.js'

import { client } from '../browser/client.js'
import { useStableCallback } from '../hooks/stable-callback.js'

/** The parts of the account page. A part that could not be loaded is undefined. */
export type Loaded = {
  account: Account
  /** The fields that `account.fields` can have. */
  fields: ProfileFieldDefinition[]
  linkedAccounts: LinkedAccount[]
  sessions: Session[] | undefined
  events: AccountEvent[] | undefined
  factors: Factors | undefined
  applications: UsedApplication[] | undefined
}

type Leave = (notice: 'sign_in' | 'session_ended') => void

/** Loads everything of the user. A service that cannot answer is asked again, with longer and longer pauses. */
export const useLoaded = (leave: Leave) => {
  const [loaded, setLoaded] = useState<Loaded>()
  const [failure, setFailure] = useState<{ refusal: Refusal; attempt: number }>()

  const load = useStableCallback(async (attempt: number) => {
    const answer = await askForEverything()
    if (!answer.refused) return setLoaded((previous) => keepLoadedParts(previous, answer.value))
    if (answer.refused === 'not_authenticated') return leave(loaded ? 'session_ended' : 'sign_in')
    if (!loaded) setFailure({ refusal: answer, attempt })
  })
  useEffect(() => {
    void load(0)
  }, [])
  useEffect(() => {
    if (loaded || !failure || !isTemporary(failure.refusal)) return
    const { refusal, attempt } = failure
    const retry = () => {
      stop()
      void load(attempt + 1)
    }
    const timer = setTimeout(retry, retryDelay(attempt, refusal))
    const stop = () => {
      clearTimeout(timer)
      removeEventListener('online', retry)
    }
    addEventListener('online', retry)
    return stop
  }, [failure, loaded])
  return { loaded, refusal: failure?.refusal, reload: () => load(0) }
}

/**
 * How long to wait before the next attempt: as long as the service asks for, or else longer each time. The random part keeps tabs from
 * asking at the same moment.
 */
const retryDelay = (attempt: number, { retryAfter }: Refusal) => {
  const backoff = Math.min(30_000, 1_000 * 2 ** attempt)
  const requestedDelay = Math.min(60, retryAfter ?? 0) * 1_000
  return Math.max(requestedDelay, backoff) * (1 + Math.random() / 4)
}

/** If a part cannot be loaded again, the page keeps the one that it has. */
const keepLoadedParts = (previous: Loaded | undefined, newest: Loaded): Loaded => ({
  account: newest.account,
  fields: newest.fields,
  linkedAccounts: newest.linkedAccounts,
  sessions: newest.sessions ?? previous?.sessions,
  events: newest.events ?? previous?.events,
  factors: newest.factors ?? previous?.factors,
  applications: newest.applications ?? previous?.applications,
})

const askForEverything = async (): Promise<Answer<Loaded>> => {
  // `me` needs no database, so it is the cheapest way to learn that the tokens must be refreshed first.
  const me = await client.me()
  if (me.refused) return me
  const [account, sessions, events, factors, applications] = await Promise.all([
    client.account(),
    client.sessions(),
    client.events(),
    client.factors(),
    client.applications(),
  ])
  if (account.refused) return account
  for (const part of [sessions, events, factors, applications])
    if (part.refused && part.refused === 'not_authenticated') return part
  return {
    value: {
      account: account.value.user,
      fields: account.value.fields,
      linkedAccounts: account.value.linkedAccounts,
      sessions: sessions.refused ? undefined : sessions.value.sessions,
      events: events.refused ? undefined : events.value.events,
      factors: factors.refused ? undefined : factors.value,
      applications: applications.refused ? undefined : applications.value.applications,
    },
  }
}
