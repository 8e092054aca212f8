import { useEffect, useState } from 'preact/hooks'
import type { Account, AccountEvent, Session } from '../../src/contract/schemas.js'
import { api } from '../api.js'
import { Button } from '../components/button.js'
import { Notice } from '../components/notice.js'
import { AccountPanel } from '../dashboard/account-panel.js'
import { type DashboardActions, DashboardActionsContext } from '../dashboard/dashboard-actions.js'
import { EventsPanel } from '../dashboard/events-panel.js'
import { useFinishedLink, useLinkErrorInAddress } from '../dashboard/linking.js'
import { PasswordPanel } from '../dashboard/password-panel.js'
import { ProvidersPanel } from '../dashboard/providers-panel.js'
import { SessionsPanel } from '../dashboard/sessions-panel.js'
import { clearScreenOnLeave, leaveSignedOut } from '../dashboard/sign-out.js'
import { SignOutEverywherePanel } from '../dashboard/sign-out-everywhere-panel.js'
import { mount, unmount } from '../mount.js'
import { redirectToLogin } from '../navigation.js'
import { useSentences } from '../refusals.js'
import { type Answer, isSignedOut, isTemporary, type Refusal, retryDelay } from '../requests.js'
import { useSettings, useWords } from '../settings.js'
import { useStableCallback } from '../stable-callback.js'
import { fill } from '../words/format.js'

type Loaded = { account: Account; sessions: Session[]; events: AccountEvent[] }
type Message = { kind: 'error' | 'success'; text: string }

const successLifetime = 8_000

const Dashboard = () => {
  const sentenceFor = useSentences()
  const linkError = useLinkErrorInAddress()
  const [message, setMessage] = useState<Message | undefined>(
    linkError === undefined ? undefined : { kind: 'error', text: linkError },
  )
  const { loaded, refused, reload } = useLoaded()
  useEffect(() => {
    if (message?.kind !== 'success') return
    // A newer message may be set already, and not drawn yet.
    const remove = () => setMessage((shown) => (shown === message ? undefined : shown))
    const timer = setTimeout(remove, successLifetime)
    return () => clearTimeout(timer)
  }, [message])

  const actions: DashboardActions = {
    showSuccess: (text) => setMessage({ kind: 'success', text }),
    showRefusal: (refusal, values) => {
      if (isSignedOut(refusal)) leave('session_ended')
      else setMessage({ kind: 'error', text: sentenceFor(refusal, values) })
    },
    reload,
  }
  useFinishedLink(loaded !== undefined, actions)

  if (!loaded) return <Loading refused={refused} />
  return (
    <DashboardActionsContext.Provider value={actions}>
      <PageTitle account={loaded.account} actions={actions} />
      <Panels {...loaded} />
      <div class="toast">{message && <Notice kind={message.kind}>{message.text}</Notice>}</div>
    </DashboardActionsContext.Provider>
  )
}

const PageTitle = ({ account, actions }: { account: Account; actions: DashboardActions }) => {
  const words = useWords('dashboard')
  const [busy, setBusy] = useState(false)
  const signOut = async () => {
    setBusy(true)
    const answer = await api.logout()
    if (answer.ok) return leaveSignedOut('signed_out')
    setBusy(false)
    actions.showRefusal(answer.refusal)
  }
  return (
    <div class="page-title">
      <h1>{fill(words.greeting, { name: account.name ?? account.username })}</h1>
      <Button busy={busy} onPress={signOut}>
        {words.signOut}
      </Button>
    </div>
  )
}

const Panels = ({ account, sessions, events }: Loaded) => (
  <div class="panels">
    <div>
      <SessionsPanel sessions={sessions} />
      <EventsPanel events={events} />
    </div>
    <div>
      <AccountPanel account={account} />
      {useSettings().providers.length > 0 && <ProvidersPanel account={account} />}
      <PasswordPanel account={account} />
      <SignOutEverywherePanel />
    </div>
  </div>
)

const Loading = ({ refused }: { refused: Refusal | undefined }) => {
  const words = useWords('dashboard')
  const sentenceFor = useSentences()
  if (!refused) {
    return (
      <p class="loading" role="status">
        <span class="spinner" aria-hidden="true" />
        {words.loading}
      </p>
    )
  }
  return <Notice kind="error">{isTemporary(refused) ? words.reconnecting : sentenceFor(refused)}</Notice>
}

/** Loads everything of the user. A service that cannot answer is asked again, with longer and longer pauses. */
const useLoaded = () => {
  const [loaded, setLoaded] = useState<Loaded>()
  const [refused, setRefused] = useState<{ refusal: Refusal; attempt: number }>()

  const load = useStableCallback(async (attempt: number) => {
    const answer = await askForEverything()
    if (answer.ok) return setLoaded(answer.value)
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

const askForEverything = async (): Promise<Answer<Loaded>> => {
  // The access check reads no store, so it is the cheapest way to learn that the tokens must be refreshed first.
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
  redirectToLogin(notice)
}

clearScreenOnLeave()
mount(Dashboard)
