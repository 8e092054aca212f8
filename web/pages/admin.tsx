import { useEffect, useState } from 'preact/hooks'
import type { Refusal } from '#client/client.js'
import type { AdminSelf } from '#contract/admin/admin-bodies.js'
import { ApplicationScreen, ApplicationsScreen, newThingId } from '../admin/applications.js'
import { calls } from '../admin/calls.js'
import { EventScreen } from '../admin/configuration-event.js'
import { EventsScreen } from '../admin/events.js'
import { GroupsScreen } from '../admin/groups.js'
import { InvitationsScreen } from '../admin/invitations.js'
import { NewApplicationScreen } from '../admin/new-application.js'
import { OverviewScreen } from '../admin/overview.js'
import { type Place, type ScreenName, usePlace } from '../admin/place.js'
import { NewResourceScreen, ResourceScreen, ResourcesScreen } from '../admin/resources.js'
import { AccessLost, type Admin, AdminContext, Frame, NothingHere } from '../admin/screen.js'
import { SettingsScreen } from '../admin/settings.js'
import { UsersScreen } from '../admin/users.js'
import { mount } from '../browser/mount.js'
import { withReturnTo } from '../browser/navigation.js'
import { PageNotLoaded } from '../components/card.js'
import { Loading } from '../components/notice.js'
import { clearScreenOnLeave, leave } from '../components/sign-out.js'
import { Toast, useToast } from '../components/toast.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { StepUpDialog, useStepUp } from '../sign-in/step-up.js'

/** Goes to the page that asks for a second factor, or says that the account needs one. It leads back to this screen. */
const goToStepUp = () =>
  location.replace(withReturnTo('/step-up?factors=2', location.pathname + location.search + location.hash))

/** Loads who the administrator is. `ending` and `loadRefusal` say what the page shows instead of its screens. */
const useSelf = () => {
  const [self, setSelf] = useState<AdminSelf>()
  const [ending, setEnding] = useState<'nothing' | 'lost'>()
  const [loadRefusal, setLoadRefusal] = useState<Refusal>()

  /** Returns whether the page is left, or shows something else than its screens. */
  const loadSelf = useStableCallback(async (): Promise<boolean> => {
    const answer = await calls.self()
    if (!answer.refused) {
      setSelf(answer.value)
      setLoadRefusal(undefined)
      return false
    }
    if (answer.refused !== 'not_found') return leaveIfEnded(answer)
    setEnding(self ? 'lost' : 'nothing')
    return true
  })
  const leaveIfEnded = useStableCallback(async (refusal: Refusal): Promise<boolean> => {
    if (refusal.refused === 'not_authenticated')
      leave(refusal.because ? 'device_lost' : self ? 'session_ended' : 'sign_in')
    else if (refusal.refused === 'fresh_sign_in_required') goToStepUp()
    // Either the thing that was asked for is gone, or the caller is no administrator any more.
    else if (refusal.refused === 'not_found') return loadSelf()
    else {
      if (!self) setLoadRefusal(refusal)
      return false
    }
    return true
  })
  useEffect(() => {
    void loadSelf()
  }, [])
  return { self, ending, loadRefusal, loadSelf, leaveIfEnded }
}

/** A message is about the user or the application that was shown, so it is closed when another one is shown. */
const useCloseForOtherId = (id: string | undefined, close: () => void) => {
  const closeMessage = useStableCallback(close)
  useEffect(() => {
    if (id !== undefined) closeMessage()
  }, [id])
}

const AdminPage = () => {
  const { self, ending, loadRefusal, loadSelf, leaveIfEnded } = useSelf()
  const { place, visitCount, screenCount, earlierDeparture } = usePlace()
  const { message, setMessage, close } = useToast(undefined)
  useCloseForOtherId(place.id, close)
  const { stepUp, withFreshSignIn } = useStepUp()
  const { loading } = useWords('admin')
  if (ending) return ending === 'lost' ? <AccessLost /> : <NothingHere />
  if (!self)
    return loadRefusal ? (
      <PageNotLoaded refusal={loadRefusal} onTryAgain={async () => void (await loadSelf())} />
    ) : (
      <Loading text={loading} />
    )
  const admin: Admin = {
    self,
    mayManage: self.role === 'admin',
    hasNavigated: visitCount > 0,
    earlierDeparture,
    showSuccess: (text) => setMessage({ kind: 'success', text }),
    showError: (text, retry) => setMessage({ kind: 'error', text, ...(retry && { retry }) }),
    leaveIfEnded,
    withFreshSignIn,
  }
  return (
    <AdminContext.Provider value={admin}>
      <Frame screen={place.screen} />
      <CurrentScreen key={screenCount} {...place} />
      {stepUp && <StepUpDialog {...stepUp} username={self.username} onSignedOut={() => leave('session_ended')} />}
      <Toast message={message} onClose={close} />
    </AdminContext.Provider>
  )
}

const screens: Record<ScreenName, (place: Place) => preact.JSX.Element> = {
  overview: OverviewScreen,
  users: UsersScreen,
  invitations: InvitationsScreen,
  groups: GroupsScreen,
  applications: ({ id }) => {
    if (id === undefined) return <ApplicationsScreen />
    return id === newThingId ? <NewApplicationScreen /> : <ApplicationScreen id={id} />
  },
  resources: ({ id }) => {
    if (id === undefined) return <ResourcesScreen />
    return id === newThingId ? <NewResourceScreen /> : <ResourceScreen id={id} />
  },
  settings: SettingsScreen,
  events: (place) => (place.id === undefined ? <EventsScreen {...place} /> : <EventScreen id={place.id} />),
}

const CurrentScreen = (place: Place) => {
  const Screen = screens[place.screen]
  return <Screen {...place} />
}

clearScreenOnLeave()
mount(AdminPage)
