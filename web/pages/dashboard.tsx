import { mount } from '../browser/mount.js'
import { queryValue } from '../browser/navigation.js'
import { Announced } from '../components/notice.js'
import { NextSteps } from '../components/panel.js'
import { clearScreenOnLeave, leave } from '../components/sign-out.js'
import { Toast, useToast } from '../components/toast.js'
import { type LoadedAccount, useAccount } from '../dashboard/account.js'
import { DataPanel, DeletePanel } from '../dashboard/data.js'
import { ApplicationsPanel, EventsPanel, SessionsPanel, TrustedDevicesPanel } from '../dashboard/devices.js'
import { EmailPanel } from '../dashboard/email.js'
import { AccountFrame } from '../dashboard/frame.js'
import { type DashboardActions, DashboardActionsContext, Loaded, NotLoaded } from '../dashboard/panels.js'
import { PasskeysPanel } from '../dashboard/passkeys.js'
import { PasswordPanel } from '../dashboard/password.js'
import { FieldsPanel, LanguagePanel, NamesPanel } from '../dashboard/profile.js'
import { ProvidersPanel, useFinishLink, useLinkMessageInAddress } from '../dashboard/providers.js'
import { Section, SectionLinks, usePlaceInAddress } from '../dashboard/sections.js'
import { Start } from '../dashboard/start.js'
import { TokensPanel } from '../dashboard/tokens.js'
import { PageTitle, RecentSecurity, ToDoLine, UsedRecoveryCode } from '../dashboard/top.js'
import { type AppReplacement, TwoStepPanel, useAppReplacement } from '../dashboard/two-step.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { StepUpDialog, useStepUp } from '../sign-in/step-up.js'
import { asksForHelp, useRefusalSentence } from '../words/refusals.js'

const Dashboard = () => {
  const sentenceOf = useRefusalSentence()
  const { message, setMessage, close } = useToast(useLinkMessageInAddress())
  const { loaded, refusal, reload } = useAccount(leave)
  const { stepUp, withFreshSignIn } = useStepUp()
  const words = useWords('dashboard')

  const actions: DashboardActions = {
    showSuccess: (text) => setMessage({ kind: 'success', text }),
    showRefusal: (refusal, values) => {
      if (refusal.refused === 'not_authenticated') leave(refusal.because ? 'device_lost' : 'session_ended')
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
      <PageTitle account={loaded?.account} />
      {loaded ? <Account {...loaded} /> : <AccountFrame />}
      {/* Both texts use one region, so that a screen reader already knows it when the account is loaded. */}
      <Announced class="visually-hidden" text={loaded ? words.loaded : words.loading} />
      {stepUp && loaded && (
        <StepUpDialog {...stepUp} username={loaded.account.username} onSignedOut={() => leave('session_ended')} />
      )}
      <Toast message={message} onClose={close} />
    </DashboardActionsContext.Provider>
  )
}

const Account = (loaded: LoadedAccount) => {
  const replacement = useAppReplacement()
  return (
    <>
      <RecentSecurity userId={loaded.account.id} events={loaded.securityEvents} />
      <Start applications={loaded.usableApplications ?? []} />
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

const Profile = ({ account, fields }: LoadedAccount) => (
  <Section name="profile">
    <NamesPanel account={account} />
    <EmailPanel account={account} />
    {!useSettings().mailIsOff && <LanguagePanel account={account} />}
    {fields.length > 0 && <FieldsPanel account={account} fields={fields} />}
  </Section>
)

type SigningInProps = LoadedAccount & { replacement: AppReplacement }

const SigningIn = ({ account, linkedAccounts, factors, replacement }: SigningInProps) => (
  <Section name="signing-in">
    <PasswordPanel account={account} />
    <Loaded part={factors} place="passkeys" title={useWords('passkeys').title}>
      {(known) => <PasskeysPanel factors={known} />}
    </Loaded>
    <Loaded part={factors} place="two-step" title={useWords('two-step').title}>
      {(known) => <TwoStepPanel factors={known} username={account.username} replacement={replacement} />}
    </Loaded>
    {useSettings().providers.length > 0 && <ProvidersPanel account={account} linkedAccounts={linkedAccounts} />}
  </Section>
)

const Devices = ({ sessions, factors, applications, tokens, events }: LoadedAccount) => {
  const words = useWords('dashboard')
  return (
    <Section name="devices">
      <Loaded part={sessions} place="sessions" title={words.sessions}>
        {(known) => <SessionsPanel sessions={known} />}
      </Loaded>
      {factors && <TrustedDevicesPanel devices={factors.trustedDevices} />}
      {applications && <ApplicationsPanel applications={applications} />}
      {tokens && <TokensPanel known={tokens} />}
      <Loaded part={events} place="activity" title={words.events}>
        {(known) => <EventsPanel events={known} />}
      </Loaded>
    </Section>
  )
}

clearScreenOnLeave()
mount(Dashboard)
