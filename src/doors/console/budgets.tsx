import { type Budget, BUDGET_PERIODS, localMinute } from "../../money/ledger/mod.ts";
import { Field, Form, levelsOf, Select } from "./components.tsx";
import { count, date, hour, number } from "./format.ts";
import { shortened } from "./name.tsx";

/** ID of the datalist of {@linkcode TimeZones}. */
const ZONES_ID = "zones";

const ZONES = [
  "UTC",
  "Africa/Cairo",
  "Africa/Johannesburg",
  "Africa/Lagos",
  "Africa/Nairobi",
  "America/Bogota",
  "America/Chicago",
  "America/Denver",
  "America/Los_Angeles",
  "America/Mexico_City",
  "America/New_York",
  "America/Sao_Paulo",
  "America/Toronto",
  "Asia/Dubai",
  "Asia/Jakarta",
  "Asia/Karachi",
  "Asia/Kolkata",
  "Asia/Seoul",
  "Asia/Shanghai",
  "Asia/Singapore",
  "Asia/Tokyo",
  "Australia/Sydney",
  "Europe/Berlin",
  "Europe/Istanbul",
  "Europe/Kyiv",
  "Europe/London",
  "Europe/Madrid",
  "Europe/Paris",
  "Pacific/Auckland",
];

const KINDS: Readonly<Record<Budget["period"], string>> = {
  day: "Daily",
  week: "Weekly",
  month: "Monthly",
  life: "Lifetime",
};

const RENEWALS: Readonly<Record<Budget["period"], string>> = {
  day: "daily",
  week: "weekly, on Monday",
  month: "monthly",
  life: "never",
};

/** Common time zones for the fields of budgets; once on each page that has such a field. */
export function TimeZones() {
  return (
    <datalist id={ZONES_ID}>
      {ZONES.map((zone) => <option value={zone} />)}
    </datalist>
  );
}

/** Formats a time of a zone: `1 Dec 2026, 00:00 (Europe/Berlin)`. */
function timeIn(atMs: number, zone: string): string {
  const shiftedMs = Date.parse(`${localMinute(atMs, zone)}Z`);
  return `${date(shiftedMs)}, ${hour(shiftedMs)} ${zone === "UTC" ? "UTC" : `(${zone})`}`;
}

/** A budget in its period: what is spent, held and left, when it renews, its raise and marks; in brief without the marks. */
export function BudgetBar(
  { budget, of, brief = false }: { budget: Budget; of?: string | undefined; brief?: boolean },
) {
  const { period, zone, credits, raise, spent, held, left, marks, renewsAtMs } = budget;
  const all = credits + (raise?.credits ?? 0);
  const used = spent + held;
  const parts = [
    `${number(spent)} spent`,
    ...(held > 0 ? [`${number(held)} held by in-flight requests or lent to gateways`] : []),
    `${number(left)} left of ${count(all, "credit")}`,
  ];
  const notes = [
    renewsAtMs === null ? "Does not renew" : `Renews ${timeIn(renewsAtMs, zone)}`,
    ...(raise === null
      ? []
      : [`Includes ${number(raise.credits)} extra until ${timeIn(raise.untilMs, zone)}`]),
    ...(brief ? [] : [marks.length === 0 ? "No warnings" : `Warns at ${marks.join(", ")}\u00a0%`]),
  ];
  const name = `${KINDS[period]} budget${of === undefined ? "" : ` of ${of}`}`;
  return (
    <div class="budget">
      <strong>
        {brief && of !== undefined ? `${KINDS[period]} budget of ${shortened(of)}` : name}
      </strong>
      <meter
        {...levelsOf(Math.max(1, all))}
        value={all === 0 ? 1 : Math.min(used, all)}
        aria-label={`${name}: ${parts.join(", ")}`}
      />
      <span>{parts.join(", ")}</span>
      <small>{notes.join(". ")}.</small>
    </div>
  );
}

/** The budgets of an owner, with forms to set, change, raise and remove them for visitors who may. */
export function Budgets(
  { budgets, of, csrf, path, isKept = false }: {
    budgets: readonly Budget[];
    /** Whose they are, for people who cannot see where on the page they are. */
    of: string;
    csrf: string;
    /** Path below which the forms post; `undefined` if the visitor may not change the budgets. */
    path: string | undefined;
    /** Whether they limit nothing at present, and can only be removed. */
    isKept?: boolean;
  },
) {
  const free = BUDGET_PERIODS.filter((period) => budgets.every((one) => one.period !== period));
  return (
    <>
      {budgets.map((budget) => (
        <>
          <BudgetBar budget={budget} />
          {path !== undefined && (
            <BudgetForms budget={budget} of={of} csrf={csrf} path={path} isKept={isKept} />
          )}
        </>
      ))}
      {path === undefined || isKept || free.length === 0 ? null : (
        <details class="budget-forms">
          <summary
            aria-label={budgets.length === 0 ? `Set a budget of ${of}` : `Add a budget: ${of}`}
          >
            {budgets.length === 0 ? "Set a budget" : "Add a budget"}
          </summary>
          <Form action={`${path}/budget`} csrf={csrf}>
            <BudgetFields periods={free} isRequired />
            <button type="submit">Set budget</button>
          </Form>
        </details>
      )}
    </>
  );
}

function BudgetForms(
  { budget, of, csrf, path, isKept }: {
    budget: Budget;
    of: string;
    csrf: string;
    path: string;
    isKept: boolean;
  },
) {
  const { period, zone, credits, marks, raise } = budget;
  const name = `${KINDS[period].toLowerCase()}, ${of}`;
  return (
    <details class="budget-forms">
      <summary aria-label={`Change budget: ${name}`}>Change budget</summary>
      {isKept ? null : (
        <>
          <Form action={`${path}/budget`} csrf={csrf}>
            <input type="hidden" name="period" value={period} />
            <Field
              label="Credits"
              name="budget"
              min={0}
              value={String(credits)}
              required
            />
            {period === "life" ? null : <ZoneField zone={zone} />}
            <MarksField marks={marks} />
            <button type="submit" aria-label={`Save budget: ${name}`}>Save budget</button>
          </Form>
          <Form action={`${path}/budget/raise`} csrf={csrf}>
            <input type="hidden" name="period" value={period} />
            <Field
              label="Extra credits per period"
              name="credits"
              min={0}
              value={raise === null ? "" : String(raise.credits)}
              hint="0 ends a raise."
              required
            />
            <Field
              label={`Until (${zone})`}
              name="until"
              type="datetime-local"
              value={raise === null ? "" : localMinute(raise.untilMs, zone)}
            />
            <button type="submit" class="plain" aria-label={`Raise budget: ${name}`}>
              Raise budget
            </button>
          </Form>
        </>
      )}
      <Form
        action={`${path}/budget/remove`}
        csrf={csrf}
        confirm={`Remove the ${
          KINDS[period].toLowerCase()
        } budget of ${of}? It limits nothing from then on.`}
      >
        <input type="hidden" name="period" value={period} />
        <button type="submit" class="danger" aria-label={`Remove budget: ${name}`}>
          Remove budget
        </button>
      </Form>
    </details>
  );
}

/** Fields of a new budget, for a form of its own or one that makes a key. */
export function BudgetFields(
  { periods = BUDGET_PERIODS, isRequired = false }: {
    periods?: readonly Budget["period"][];
    /** Whether the form is about the budget only. */
    isRequired?: boolean;
  },
) {
  return (
    <>
      <Field
        label={isRequired ? "Credits" : "Budget"}
        name="budget"
        min={0}
        hint="Credits that may be spent until the budget renews."
        required={isRequired}
      />
      <Select
        label="Budget renews"
        name="period"
        options={periods.toReversed().map((period) => [period, RENEWALS[period]])}
      />
      <ZoneField zone="UTC" />
      <MarksField marks={[50, 80, 100]} />
    </>
  );
}

function ZoneField({ zone }: { zone: string }) {
  return (
    <Field
      label="Time zone"
      name="zone"
      value={zone}
      list={ZONES_ID}
      maxlength={64}
      autocomplete="off"
      hint="Where its days, weeks and months begin."
    />
  );
}

function MarksField({ marks }: { marks: readonly number[] }) {
  return (
    <Field
      label="Warn at (%)"
      name="marks"
      value={marks.join(", ")}
      maxlength={80}
      autocomplete="off"
      hint="Percentages spent; none: no warnings."
    />
  );
}
