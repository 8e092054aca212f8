import { useEffect, useState } from 'preact/hooks'
import { type Account, type AccountEvent, api, type Session } from '../api.js'
import { Button } from '../components/button.js'
import { Notice } from '../components/notice.js'
import { AccountPanel } from '../dashboard/account-panel.js'
import { type DashboardActions, DashboardActionsContext } from '../dashboard/dashboard-actions.js'
import { EventsPanel } from '../dashboard/events-panel.js'
import { EverywherePanel } from '../dashboard/everywhere-panel.js'
import { guardTheScreen, leaveSignedOut } from '../dashboard/leaving.js'
import { PasswordPanel } from '../dashboard/password-panel.js'
import { ProvidersPanel } from '../dashboard/providers-panel.js'
import { SessionsPanel } from '../dashboard/sessions-panel.js'
import { mount, unmount } from '../mount.js'
import { leaveForLogin, wordInAddress } from '../navigation.js'
import { sentenceFor } from '../refusals.js'
import { isSignedOut, isTrouble, type Outcome, pauseBefore, type Refusal } from '../requests.js'
import type { Provider, Settings } from '../settings.js'
import { fill } from '../words/format.js'

type Loaded = { account: Account; sessions: Session[]; events: AccountEvent[] }
type Message = { kind: 'error' | 'success'; text: string }

const Dashboard = ({ settings }: { settings: Settings<'dashboard'> }) => {
  const { dashboard: words, common } = settings.words
  const [message, setMessage] = useState<Message | undefined>(() => messageInAddress(settings))
  const [leaving, setLeaving] = useState(false)
  const { loaded, refused, reload } = useLoaded()
  const isLoaded = loaded !== undefined
  useEffect(() => {
    if (message?.kind !== 'success') return
    const timer = setTimeout(() => setMessage(undefined), 8_000)
    return () => clearTimeout(timer)
  }, [message])

  useEffect(() => {
    if (isLoaded) void finishLink(settings, actions)
  }, [isLoaded])

  const actions: DashboardActions = {
    tell: (text) => setMessage({ kind: 'success', text }),
    refuse: (refusal, text) => {
      if (isSignedOut(refusal)) leave('session_ended')
      else setMessage({ kind: 'error', text: text ?? sentenceFor(refusal, common) })
    },
    reload,
  }
  const signOut = async () => {
    setLeaving(true)
    const answer = await api.logout()
    if (answer.ok) return leaveSignedOut('signed_out')
    setLeaving(false)
    actions.refuse(answer.refusal)
  }

  if (!loaded) return <Waiting refused={refused} settings={settings} />
  const { account, sessions, events } = loaded
  return (
    <DashboardActionsContext.Provider value={actions}>
      <div class="page-title">
        <h1>{fill(words.greeting, { name: account.name ?? account.username })}</h1>
        <Button busy={leaving} onPress={signOut}>
          {words.signOut}
        </Button>
      </div>
      <div class="panels">
        <div>
          <SessionsPanel sessions={sessions} settings={settings} />
          <EventsPanel events={events} settings={settings} />
        </div>
        <div>
          <AccountPanel account={account} settings={settings} />
          {settings.providers.length > 0 && <ProvidersPanel account={account} settings={settings} />}
          <PasswordPanel account={account} settings={settings} />
          <EverywherePanel settings={settings} />
        </div>
      </div>
      <div class="toast">{message && <Notice kind={message.kind}>{message.text}</Notice>}</div>
    </DashboardActionsContext.Provider>
  )
}

const Waiting = ({ refused, settings }: { refused: Refusal | undefined; settings: Settings<'dashboard'> }) => {
  const { dashboard: words, common } = settings.words
  if (!refused) {
    return (
      <p class="loading" role="status">
        <span class="spinner" aria-hidden="true" />
        {words.loading}
      </p>
    )
  }
  return <Notice kind="error">{isTrouble(refused) ? words.reconnecting : sentenceFor(refused, common)}</Notice>
}

/** Asks who is here, then for everything of theirs. Trouble on the way is no sign-out: it is tried again, ever slower. */
const useLoaded = () => {
  const [loaded, setLoaded] = useState<Loaded>()
  const [refused, setRefused] = useState<Refusal>()
  const [attempt, setAttempt] = useState(0)

  const load = async () => {
    const answer = await askForEverything()
    if (answer.ok) return setLoaded(answer.value)
    if (isSignedOut(answer.refusal)) return leave(loaded ? 'session_ended' : 'sign_in')
    if (!loaded) setRefused(answer.refusal)
  }
  useEffect(() => {
    void load()
  }, [attempt])
  useEffect(() => {
    if (loaded || !refused || !isTrouble(refused)) return
    const again = () => setAttempt(attempt + 1)
    const timer = setTimeout(again, pauseBefore(attempt, refused))
    addEventListener('online', again)
    return () => {
      clearTimeout(timer)
      removeEventListener('online', again)
    }
  }, [refused, loaded])
  return { loaded, refused, reload: load }
}

const askForEverything = async (): Promise<Outcome<Loaded>> => {
  // The access check touches no store, so it is the cheapest way to learn that the tokens must be renewed first.
  const me = await api.me()
  if (!me.ok) return me
  const [account, sessions, events] = await Promise.all([api.account(), api.sessions(), api.events()])
  if (!account.ok) return account
  if (!sessions.ok) return sessions
  if (!events.ok) return events
  return {
    ok: true,
    value: { account: account.value.user, sessions: sessions.value.sessions, events: events.value.events },
  }
}

const leave = (notice: 'sign_in' | 'session_ended') => {
  unmount()
  leaveForLogin(notice)
}

/** Why a provider was not connected, in our own words. */
const linkErrorFor = (
  reason: string | undefined,
  provider: Provider,
  { dashboard: words }: Settings<'dashboard'>['words'],
) => {
  const known: Record<string, string> = words.linkErrors
  const text = reason !== undefined && Object.hasOwn(known, reason) ? known[reason] : undefined
  return fill(text ?? words.linkErrors.failed, { provider: provider.name })
}

/** A provider that could not be connected ends here with a word in the address. A reload does not repeat it. */
const messageInAddress = ({ providers, words }: Settings<'dashboard'>) => {
  const error = wordInAddress('error')
  if (error === undefined) return undefined
  const reason = wordInAddress('reason')
  history.replaceState(null, '', location.pathname)
  const failed = providers.find(({ id }) => error === `${id}_auth_failed`)
  if (!failed) return { kind: 'error' as const, text: words.common.providerErrors.callback }
  return { kind: 'error' as const, text: linkErrorFor(reason, failed, words) }
}

/** The browser is back from the provider, without its session on the way. This request carries the session. */
const finishLink = async ({ providers, words }: Settings<'dashboard'>, actions: DashboardActions) => {
  const provider = providers.find(({ id }) => id === wordInAddress('linking'))
  if (!provider) return
  history.replaceState(null, '', location.pathname)
  const answer = await api.finishLink(provider.id)
  if (!answer.ok) {
    const { refusal } = answer
    return actions.refuse(refusal, isTrouble(refusal) ? undefined : linkErrorFor(refusal.code, provider, words))
  }
  await actions.reload()
  actions.tell(fill(words.dashboard.linkedNow, { provider: provider.name }))
}

guardTheScreen()
mount(Dashboard)
