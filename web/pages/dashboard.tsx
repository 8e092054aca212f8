import type { Account } from '#contract/schemas.js'
import { mount } from '../browser/mount.js'
import { clearScreenOnLeave, leave } from '../browser/sign-out.js'
import { Loading } from '../components/loading.js'
import { SignOutButton } from '../components/sign-out-button.js'
import { Toast, useMessage } from '../components/toast.js'
import { AccountPanel } from '../dashboard/account-panel.js'
import { ApplicationsPanel } from '../dashboard/applications-panel.js'
import { type DashboardActions, DashboardActionsContext } from '../dashboard/dashboard-actions.js'
import { DataPanel, DeletePanel } from '../dashboard/data-panel.js'
import { EventsPanel } from '../dashboard/events-panel.js'
import { FieldsPanel } from '../dashboard/fields-panel.js'
import { useFinishedLink, useLinkErrorInAddress } from '../dashboard/linking.js'
import { NotLoaded, PanelNotLoaded } from '../dashboard/not-loaded.js'
import { PasskeysPanel } from '../dashboard/passkeys-panel.js'
import { PasswordPanel } from '../dashboard/password-panel.js'
import { ProvidersPanel } from '../dashboard/providers-panel.js'
import { SessionsPanel } from '../dashboard/sessions-panel.js'
import { SignOutEverywherePanel } from '../dashboard/sign-out-everywhere-panel.js'
import { TwoStepPanel } from '../dashboard/two-step-panel.js'
import { type Loaded, useLoaded } from '../dashboard/use-loaded.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { StepUpDialog, useStepUp } from '../step-up/use-step-up.js'
import { fill } from '../words/format.js'
import { useSentences } from '../words/refusals.js'

const Dashboard = () => {
  const sentenceFor = useSentences()
  const linkError = useLinkErrorInAddress()
  const { message, setMessage, close } = useMessage(
    linkError === undefined ? undefined : { kind: 'error', text: linkError },
  )
  const { loaded, refused, reload } = useLoaded(leave)
  const { stepUp, withFreshSignIn } = useStepUp()
  const { loading } = useWords('dashboard')

  const actions: DashboardActions = {
    showSuccess: (text) => setMessage({ kind: 'success', text }),
    showRefusal: (refusal, values) => {
      if (refusal.refused === 'not_authenticated') leave('session_ended')
      // The user has closed the dialog that asked for it, and wants nothing changed.
      else if (refusal.refused !== 'fresh_sign_in_required')
        setMessage({ kind: 'error', text: sentenceFor(refusal, values) })
    },
    reload,
    withFreshSignIn,
  }
  useFinishedLink(loaded !== undefined, actions)

  if (!loaded) return refused ? <NotLoaded refused={refused} onTryAgain={reload} /> : <Loading text={loading} />
  return (
    <DashboardActionsContext.Provider value={actions}>
      <PageTitle account={loaded.account} actions={actions} />
      <Panels {...loaded} reload={reload} />
      {stepUp && (
        <StepUpDialog {...stepUp} username={loaded.account.username} onSignedOut={() => leave('session_ended')} />
      )}
      <Toast message={message} onClose={close} />
    </DashboardActionsContext.Provider>
  )
}

const PageTitle = ({ account, actions }: { account: Account; actions: DashboardActions }) => (
  <div class="page-title">
    <h1>{fill(useWords('dashboard').greeting, { name: account.name ?? account.username })}</h1>
    <SignOutButton onRefused={actions.showRefusal} />
  </div>
)

const Panels = ({
  account,
  fields,
  sessions,
  events,
  factors,
  applications,
  reload,
}: Loaded & { reload: () => Promise<void> }) => {
  const words = useWords('dashboard')
  const twoStep = useWords('two-step')
  const passkeys = useWords('passkeys')
  return (
    <div class="panels">
      <div>
        {sessions ? (
          <SessionsPanel sessions={sessions} />
        ) : (
          <PanelNotLoaded title={words.sessions} onTryAgain={reload} />
        )}
        <SignOutEverywherePanel />
        {applications && <ApplicationsPanel applications={applications} />}
        {events ? <EventsPanel events={events} /> : <PanelNotLoaded title={words.events} onTryAgain={reload} />}
      </div>
      <div>
        <AccountPanel account={account} />
        {fields.length > 0 && <FieldsPanel account={account} fields={fields} />}
        {useSettings().providers.length > 0 && <ProvidersPanel account={account} />}
        <PasswordPanel account={account} />
        {factors ? <PasskeysPanel factors={factors} /> : <PanelNotLoaded title={passkeys.title} onTryAgain={reload} />}
        {factors ? (
          <TwoStepPanel factors={factors} username={account.username} />
        ) : (
          <PanelNotLoaded title={twoStep.title} onTryAgain={reload} />
        )}
        <DataPanel />
        <DeletePanel account={account} />
      </div>
    </div>
  )
}

clearScreenOnLeave()
mount(Dashboard)
