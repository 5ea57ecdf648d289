{{- define "sluice.name" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- trunc 40 $name | trimSuffix "-" -}}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "sluice.postgres" -}}
{{ include "sluice.name" . }}-postgres
{{- end }}

{{/* Where the database is, and secrets with its password and its authority: `database`, or what CloudNativePG makes. */}}
{{- define "sluice.database" -}}
{{- if .Values.cloudNativePG.enabled -}}
{{- $cluster := include "sluice.postgres" . -}}
{{- $database := "sluice?sslmode=verify-full&sslrootcert=/etc/sluice/database/ca.crt" -}}
url: postgres://sluice@{{ $cluster }}-rw/{{ $database }}
replicaUrl: {{ if gt (int .Values.cloudNativePG.instances) 1 }}postgres://sluice@{{ $cluster }}-ro/{{ $database }}{{ else }}""{{ end }}
password: { secret: {{ $cluster }}-app, key: password }
ca: { secret: {{ $cluster }}-ca, key: ca.crt }
{{- else -}}
{{- toYaml .Values.database -}}
{{- end -}}
{{- end }}
