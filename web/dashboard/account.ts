import { useEffect, useRef } from 'preact/hooks'
import { type Answer, isTemporary, type Refusal } from '#client/client.js'
import type { LinkedAccount } from '#contract/account-export.js'
import type { PersonalTokens } from '#contract/personal-tokens.js'
import type { ProfileFieldDefinition } from '#contract/profile-fields.js'
import type { Account, AccountEvent, Factors, Session, UsableApplication, UsedApplication } from '#contract/schemas.js'
import { askService, client } from '../browser/client.js'
import { readSettings } from '../browser/settings.js'
import { useLoaded } from '../hooks/loaded.js'
import { useStableCallback } from '../hooks/stable.js'

/** The parts of the account page. A part that could not be loaded is undefined. */
export type LoadedAccount = {
  account: Account
  /** The fields that `account.fields` can have. */
  fields: ProfileFieldDefinition[]
  linkedAccounts: LinkedAccount[]
  sessions: Session[] | undefined
  events: AccountEvent[] | undefined
  factors: Factors | undefined
  applications: UsedApplication[] | undefined
  usableApplications: UsableApplication[] | undefined
  tokens: PersonalTokens | undefined
  /** What a mail would have told the owner, where nothing is mailed or the address was never proven. */
  securityEvents: AccountEvent[]
}

/** Loads everything of the user. A service that cannot answer is asked again, with longer and longer pauses. */
export const useAccount = (leave: (notice: 'sign_in' | 'session_ended' | 'device_lost') => void) => {
  const newest = useRef<LoadedAccount>(undefined)
  const {
    value: loaded,
    refusal,
    reload,
  } = useLoaded(
    async () => {
      const answer = await askForEverything()
      if (answer.refused) return answer
      newest.current = keepLoadedParts(newest.current, answer.value)
      return { value: newest.current }
    },
    ({ refused, because }, isShown) => {
      if (refused === 'not_authenticated') leave(because ? 'device_lost' : isShown ? 'session_ended' : 'sign_in')
      return isShown || refused === 'not_authenticated'
    },
  )
  const attempt = useRef(0)
  const tryAgain = useStableCallback(reload)
  useEffect(() => {
    if (loaded || !refusal || !isTemporary(refusal)) return
    const retry = () => {
      stop()
      attempt.current += 1
      void tryAgain()
    }
    const timer = setTimeout(retry, retryDelay(attempt.current, refusal))
    const stop = () => {
      clearTimeout(timer)
      removeEventListener('online', retry)
    }
    addEventListener('online', retry)
    return stop
  }, [refusal, loaded])
  const reloadAtOnce = () => {
    attempt.current = 0
    return reload()
  }
  return { loaded, refusal, reload: reloadAtOnce }
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
const keepLoadedParts = (previous: LoadedAccount | undefined, newest: LoadedAccount): LoadedAccount => ({
  account: newest.account,
  fields: newest.fields,
  linkedAccounts: newest.linkedAccounts,
  sessions: newest.sessions ?? previous?.sessions,
  events: newest.events ?? previous?.events,
  factors: newest.factors ?? previous?.factors,
  applications: newest.applications ?? previous?.applications,
  usableApplications: newest.usableApplications ?? previous?.usableApplications,
  tokens: newest.tokens ?? previous?.tokens,
  securityEvents: newest.securityEvents,
})

const askForSecurity = async (account: Account) => {
  if (!readSettings().mailIsOff && !account.emailClaimed) return []
  const answer = await askService<{ events: AccountEvent[] }>('events?security=true')
  return answer.refused ? [] : answer.value.events
}

const askForEverything = async (): Promise<Answer<LoadedAccount>> => {
  // `me` needs no database, so it is the cheapest way to learn that the tokens must be refreshed first.
  const me = await client.me()
  if (me.refused) return me
  const [account, sessions, events, factors, applications, tokens] = await Promise.all([
    client.account(),
    client.sessions(),
    client.events(),
    client.factors(),
    client.applications(),
    client.personalTokens(),
  ])
  if (account.refused) return account
  for (const part of [sessions, events, factors, applications, tokens])
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
      usableApplications: applications.refused ? undefined : applications.value.usable,
      tokens: tokens.refused ? undefined : tokens.value,
      securityEvents: await askForSecurity(account.value.user),
    },
  }
}
