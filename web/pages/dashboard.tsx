import { mount } from '../browser/mount.js'
import { queryValue } from '../browser/navigation.js'
import { clearScreenOnLeave, leave } from '../browser/sign-out.js'
import { Announced } from '../components/announced.js'
import { NextSteps } from '../components/next-steps.js'
import { Toast, useToast } from '../components/toast.js'
import { ApplicationsPanel } from '../dashboard/applications-panel.js'
import { type DashboardActions, DashboardActionsContext, useDashboardActions } from '../dashboard/dashboard-actions.js'
import { DataPanel, DeletePanel } from '../dashboard/data-panel.js'
import { EmailPanel } from '../dashboard/email-panel.js'
import { EventsPanel } from '../dashboard/events-panel.js'
import { FieldsPanel } from '../dashboard/fields-panel.js'
import { LanguagePanel } from '../dashboard/language-panel.js'
import { useFinishLink, useLinkMessageInAddress } from '../dashboard/linking.js'
import { NamesPanel } from '../dashboard/names-panel.js'
import { NotLoaded, PanelNotLoaded } from '../dashboard/not-loaded.js'
import { PageTitle, ToDoLine } from '../dashboard/page-title.js'
import { PasskeysPanel } from '../dashboard/passkeys-panel.js'
import { PasswordPanel } from '../dashboard/password-panel.js'
import { usePlaceInAddress } from '../dashboard/place-in-address.js'
import { ProvidersPanel } from '../dashboard/providers-panel.js'
import { RecentSecurity } from '../dashboard/recent-security.js'
import { Section, SectionLinks } from '../dashboard/section.js'
import { SessionsPanel } from '../dashboard/sessions-panel.js'
import { TrustedDevicesPanel } from '../dashboard/trusted-devices.js'
import { TwoStepPanel } from '../dashboard/two-step-panel.js'
import { type AppReplacement, useAppReplacement } from '../dashboard/use-app-replacement.js'
import { type Loaded, useLoaded } from '../dashboard/use-loaded.js'
import { UsedRecoveryCode } from '../dashboard/used-recovery-code.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { StepUpDialog, useStepUp } from '../step-up/use-step-up.js'
import { asksForHelp, useRefusalSentence } from '../words/refusals.js'

const Dashboard = () => {
  const sentenceOf = useRefusalSentence()
  const { message, setMessage, close } = useToast(useLinkMessageInAddress())
  const { loaded, refusal, reload } = useLoaded(leave)
  const { stepUp, withFreshSignIn } = useStepUp()
  const words = useWords('dashboard')

  const actions: DashboardActions = {
    showSuccess: (text) => setMessage({ kind: 'success', text }),
    showRefusal: (refusal, values) => {
      if (refusal.refused === 'not_authenticated') leave('session_ended')
      // The user has closed the dialog that asked for a proof, so nothing is changed.
      else if (refusal.refused !== 'fresh_sign_in_required')
        setMessage({ kind: 'error', text: sentenceOf(refusal, values), hasHelpLink: asksForHelp(refusal.refused) })
    },
    reload,
    withFreshSignIn,
  }
  useFinishLink(loaded !== undefined, actions)

  usePlaceInAddress(loaded !== undefined)

  if (!loaded && refusal) return <NotLoaded refusal={refusal} onTryAgain={reload} />
  return (
    <DashboardActionsContext.Provider value={actions}>
      {loaded ? <LoadedAccount {...loaded} /> : <span class="spinner" aria-hidden="true" />}
      {/* Both texts use one region, so that a screen reader already knows it when the account is loaded. */}
      <Announced class={loaded ? 'visually-hidden' : 'loading'} text={loaded ? words.loaded : words.loading} />
      {stepUp && loaded && (
        <StepUpDialog {...stepUp} username={loaded.account.username} onSignedOut={() => leave('session_ended')} />
      )}
      <Toast message={message} onClose={close} />
    </DashboardActionsContext.Provider>
  )
}

const LoadedAccount = (loaded: Loaded) => {
  const replacement = useAppReplacement()
  const { mailIsOff } = useSettings()
  return (
    <>
      <PageTitle account={loaded.account} />
      {(mailIsOff || loaded.account.emailClaimed) && <RecentSecurity userId={loaded.account.id} />}
      <ToDoLine account={loaded.account} factors={loaded.factors} />
      {queryValue('setup') === 'done' && (
        <div class="next-steps">
          <NextSteps />
        </div>
      )}
      <UsedRecoveryCode {...loaded} onReplaceApp={replacement.begin} />
      <div class="account">
        <SectionLinks />
        <div class="sections">
          <Profile {...loaded} />
          <SigningIn {...loaded} replacement={replacement} />
          <Devices {...loaded} />
          <Section name="data">
            <DataPanel />
            <DeletePanel account={loaded.account} />
          </Section>
        </div>
      </div>
    </>
  )
}

const Profile = ({ account, fields }: Loaded) => (
  <Section name="profile">
    <NamesPanel account={account} />
    <EmailPanel account={account} />
    {!useSettings().mailIsOff && <LanguagePanel account={account} />}
    {fields.length > 0 && <FieldsPanel account={account} fields={fields} />}
  </Section>
)

type SigningInProps = Loaded & { replacement: AppReplacement }

const SigningIn = ({ account, linkedAccounts, factors, replacement }: SigningInProps) => {
  const twoStep = useWords('two-step')
  const passkeys = useWords('passkeys')
  const { reload } = useDashboardActions()
  return (
    <Section name="signing-in">
      <PasswordPanel account={account} />
      {factors ? (
        <PasskeysPanel factors={factors} />
      ) : (
        <PanelNotLoaded place="passkeys" title={passkeys.title} onTryAgain={reload} />
      )}
      {factors ? (
        <TwoStepPanel factors={factors} username={account.username} replacement={replacement} />
      ) : (
        <PanelNotLoaded place="two-step" title={twoStep.title} onTryAgain={reload} />
      )}
      {useSettings().providers.length > 0 && <ProvidersPanel account={account} linkedAccounts={linkedAccounts} />}
    </Section>
  )
}

const Devices = ({ sessions, factors, applications, events }: Loaded) => {
  const words = useWords('dashboard')
  const { reload } = useDashboardActions()
  return (
    <Section name="devices">
      {sessions ? (
        <SessionsPanel sessions={sessions} />
      ) : (
        <PanelNotLoaded place="sessions" title={words.sessions} onTryAgain={reload} />
      )}
      {factors && <TrustedDevicesPanel devices={factors.trustedDevices} />}
      {applications && <ApplicationsPanel applications={applications} />}
      {events ? (
        <EventsPanel events={events} />
      ) : (
        <PanelNotLoaded place="activity" title={words.events} onTryAgain={reload} />
      )}
    </Section>
  )
}

clearScreenOnLeave()
mount(Dashboard)
